// Saves checkpoints into one run folder durably, from memory allocated in advance, and keeps the newest few
// and the best.
//
//   CheckpointStore store("runs/small", resumed_step);    // locks the folder, sweeps what a crash left behind
//   store.prepare(model, optimizer, 1 << 16, staging);    // everything save() needs is allocated here
//   store.save(step, state_json, is_best);                // no allocation; returns early when there is staging
//   if (auto error = store.take_error()) warn(*error);    // a full disk is told here, and the run goes on
//   store.wait();                                         // before leaving
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "checkpoint/safetensors.hpp"

namespace plimsoll {

// Hands over the bytes of the optimizer's tensors where not all of them are in this process: one tensor after the other, in
// parts of any size that do not reach beyond a tensor.
class TensorSource {
 public:
  virtual ~TensorSource() = default;
  virtual std::span<const std::byte> next() noexcept = 0;  // valid until the next call; empty: cannot be had
};

class CheckpointStore {
 public:
  // Makes the folder when it is missing; InputError when it cannot be written or another process holds it.
  // `resumed_step` is the checkpoint of this folder the run goes on from. Those later (all, without one)
  // belong to a history this run replaces: they are removed once its first checkpoint is durable, not before.
  explicit CheckpointStore(std::filesystem::path run_folder, std::optional<uint64_t> resumed_step = {},
                           int keep_last = 3);
  ~CheckpointStore();  // finishes the write under way
  CheckpointStore(const CheckpointStore&) = delete;
  CheckpointStore& operator=(const CheckpointStore&) = delete;

  // Bytes of staging that make save() return before the writing is done.
  static uint64_t staging_bytes(std::span<const TensorView> model, std::span<const TensorView> optimizer);

  // Once. The tensors are read at every save(); `staging` may be empty, and save() then returns when all is
  // durable. With `source`, the optimizer's tensors are read from there, in the thread that calls save().
  void prepare(std::span<const TensorView> model, std::span<const TensorView> optimizer,
               size_t state_capacity, std::span<std::byte> staging = {}, TensorSource* source = nullptr);

  // Writes the tensors as they are now. Waits for the save before it. Never throws, never allocates.
  void save(uint64_t step, std::string_view state_json, bool is_best) noexcept;
  // Returns when no write is under way.
  void wait() noexcept;
  // What went wrong since the last call, as one line; nothing when every finished save is durable.
  std::optional<std::string> take_error();
  // The newest step known to be durable, and the best, as far as finished saves go.
  std::optional<uint64_t> last_step() const;
  std::optional<uint64_t> best_step() const;

 private:
  class Writer;
  std::unique_ptr<Writer> writer_;
};

}  // namespace plimsoll
