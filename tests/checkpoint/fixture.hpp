// A run folder that is removed with the test, and tensors whose values are determined by a step.
#pragma once
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "checkpoint/load.hpp"
#include "checkpoint/store.hpp"

namespace plimsoll {

struct TemporaryFolder {
  // `wish` is for tests that sync a thousand times: memory answers sooner than a disk.
  explicit TemporaryFolder(const char* wish = "") {
    std::string base = access(wish, W_OK) == 0 ? wish : testing::TempDir();
    std::string name = base + "plimsoll-checkpoint-XXXXXX";
    path = mkdtemp(name.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  std::filesystem::path path;
};

// Parameters, and two moments for each.
class Weights {
 public:
  explicit Weights(int64_t rows = 24) {
    add(model_, "wte", {rows, 16});
    add(model_, "blocks.0.norm.bias", {16});
    add(model_, "scale", {});
    add(model_, "unused", {0, 4});
    for (const char* moment : {"first.", "second."})
      for (size_t i = 0; i < 3; ++i) add(optimizer_, moment + model_[i].name, model_[i].shape);
  }
  void set(uint64_t step) {
    each([step](float& value, uint64_t i) { value = expected(step, i); });
  }
  bool is(uint64_t step) {
    bool same = true;
    each([&](float& value, uint64_t i) { same = same && value == expected(step, i); });
    return same;
  }
  const std::vector<TensorSlot>& model() const { return model_; }
  const std::vector<TensorSlot>& optimizer() const { return optimizer_; }
  static std::vector<TensorView> views(const std::vector<TensorSlot>& slots) {
    std::vector<TensorView> all;
    for (const TensorSlot& slot : slots) all.push_back({slot.name, slot.shape, slot.data});
    return all;
  }
  // Synchronous without staging.
  void prepare(CheckpointStore& store, bool background = false) {
    auto model = views(model_), optimizer = views(optimizer_);
    if (background) staging_.resize(CheckpointStore::staging_bytes(model, optimizer));
    store.prepare(model, optimizer, 1000, staging_);
  }

 private:
  static float expected(uint64_t step, uint64_t i) {
    return static_cast<float>(step) + static_cast<float>(i % 977) / 1024;
  }
  void add(std::vector<TensorSlot>& to, std::string name, std::vector<int64_t> shape) {
    memory_.push_back(std::make_unique<std::vector<float>>(tensor_bytes(shape, DType::f32) / sizeof(float)));
    to.push_back({std::move(name), std::move(shape), memory_.back()->data()});
  }
  template <typename Visit>
  void each(Visit visit) {
    uint64_t i = 0;
    for (auto& tensor : memory_)
      for (float& value : *tensor) visit(value, i++);
  }
  std::vector<std::unique_ptr<std::vector<float>>> memory_;
  std::vector<TensorSlot> model_, optimizer_;
  std::vector<std::byte> staging_;
};

// The message of the InputError `call` throws; empty when it throws none.
template <typename Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  return {};
}

inline std::string state_of(uint64_t step) { return "{\"step\": " + std::to_string(step) + "}"; }

// Saves one step and waits for it; the error, if there was one.
inline std::string save(CheckpointStore& store, Weights& weights, uint64_t step, bool is_best = false) {
  weights.set(step);
  store.save(step, state_of(step), is_best);
  store.wait();
  return store.take_error().value_or("");
}

// Loads the newest whole checkpoint and returns its step once everything in it has been compared with that
// step.
inline uint64_t loaded_step(const std::filesystem::path& path, int64_t rows = 24,
                            std::vector<std::string>* warnings = nullptr) {
  WholeCheckpoint found = newest_whole(resolve(path));
  Weights weights(rows);
  weights.set(1'000'000);
  load(found.checkpoint, weights.model(), weights.optimizer());
  EXPECT_TRUE(weights.is(found.checkpoint.step)) << found.checkpoint.folder;
  EXPECT_EQ(found.state, state_of(found.checkpoint.step));
  if (warnings) *warnings = found.warnings;
  return found.checkpoint.step;
}

// No checkpoint that can be seen is damaged, not even one that was about to go.
inline void expect_all_whole(const std::filesystem::path& run) {
  for (const Checkpoint& each : list_checkpoints(run)) EXPECT_EQ(refusal([&] { verify(each); }), "");
}

inline std::vector<uint64_t> steps_in(const std::filesystem::path& run) {
  std::vector<uint64_t> steps;
  for (const Checkpoint& each : list_checkpoints(run)) steps.push_back(each.step);
  return steps;
}

inline size_t entries_in(const std::filesystem::path& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

}  // namespace plimsoll
