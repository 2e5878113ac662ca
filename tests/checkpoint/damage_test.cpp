// A checkpoint that differs from what was saved is never loaded, and the difference is named.
#include <rapidcheck.h>

#include <fstream>

#include "checkpoint/fixture.hpp"
#include "checkpoint/manifest.hpp"

namespace plimsoll {
namespace {

class Damage : public testing::Test {
 protected:
  Damage() : run("/dev/shm/") {
    CheckpointStore store(run.path);
    Weights weights;
    weights.prepare(store);
    for (uint64_t step : {10, 20}) EXPECT_EQ(save(store, weights, step), "");
  }
  std::filesystem::path newest(const char* name) const { return run.path / "step-000020" / name; }
  static std::string read(const std::filesystem::path& path) { return read_file(path, 1 << 20); }
  static void put(const std::filesystem::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  // The newest is damaged in `name`: that is said in one line, and the one before it is loaded.
  void expect_fallback(const std::string& name) {
    std::vector<std::string> warnings;
    EXPECT_EQ(loaded_step(run.path, 24, &warnings), 10u);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find("step-000020/" + name), std::string::npos) << warnings[0];
    Weights weights;
    EXPECT_NE(refusal([&] {
                load({run.path / "step-000020", 20}, weights.model(), weights.optimizer());
                verify({run.path / "step-000020", 20});
              }),
              "");
  }
  TemporaryFolder run;
};

TEST_F(Damage, AFlippedBitAnywhereIsFound) {
  for (const char* name : checkpoint_files) {
    std::string good = read(newest(name));
    bool held = rc::check(std::string("a flipped bit in ") + name, [&] {
      size_t at = *rc::gen::inRange<size_t>(0, good.size());
      int bit = *rc::gen::inRange(0, 8);
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      put(newest(name), bad);
      std::vector<std::string> warnings;
      RC_ASSERT(loaded_step(run.path, 24, &warnings) == 10u);
      RC_ASSERT(warnings.size() == 1u);
      RC_ASSERT(warnings[0].find(std::string("step-000020/") + name) != std::string::npos);
      RC_ASSERT(warnings[0].find('\n') == std::string::npos);
    });
    EXPECT_TRUE(held);
    put(newest(name), good);
  }
  EXPECT_EQ(loaded_step(run.path), 20u);
}

TEST_F(Damage, EveryByteOfHeaderStateAndManifestCounts) {
  for (const char* name : {model_name, state_name, manifest_name}) {
    std::string good = read(newest(name));
    size_t reach =
        name == model_name ? make_safetensors_header(Weights::views(Weights().model())).size() : good.size();
    for (size_t at = 0; at < reach; ++at) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ 0x20);
      put(newest(name), bad);
      EXPECT_NE(refusal([&] { verify({run.path / "step-000020", 20}); }), "") << name << " byte " << at;
    }
    put(newest(name), good);
  }
}

TEST_F(Damage, TheTensorIsNamed) {
  std::string bad = read(newest(optimizer_name));
  bad.back() = static_cast<char>(bad.back() ^ 1);
  put(newest(optimizer_name), bad);
  EXPECT_NE(refusal([&] {
              verify({run.path / "step-000020", 20});
            }).find("tensor 'second.scale'"),
            std::string::npos);
  Weights weights;
  load({run.path / "step-000020", 20}, weights.model());  // a reader of weights alone does not care
  expect_fallback(optimizer_name);
}

TEST_F(Damage, TruncatedExtendedMissingAndReplacedFiles) {
  size_t header = make_safetensors_header(Weights::views(Weights().model())).size();
  for (const char* name : checkpoint_files) {
    std::string good = read(newest(name));
    std::vector<size_t> lengths = {
        0, 1, 7, 8, 9, header - 1, header, header + 1, good.size() / 2, good.size() - 4, good.size() - 1};
    for (size_t length : lengths) {
      if (length >= good.size()) continue;
      put(newest(name), good.substr(0, length));
      expect_fallback(name);
    }
    put(newest(name), good + '\0');
    expect_fallback(name);
    std::filesystem::remove(newest(name));
    expect_fallback(name);
    std::filesystem::create_directory(newest(name));
    expect_fallback(name);
    std::filesystem::remove(newest(name));
    if (std::string_view(name) != state_name) {
      put(newest(name), read(run.path / "step-000010" / name));  // sound, but of another moment
      std::vector<std::string> warnings;
      EXPECT_EQ(loaded_step(run.path, 24, &warnings), 10u);
      EXPECT_EQ(warnings.size(), 1u);
    }
    put(newest(name), good);
  }
  EXPECT_EQ(loaded_step(run.path), 20u);
}

TEST_F(Damage, WhenNothingIsWholeTheNewestIsNamed) {
  for (const char* step : {"step-000010", "step-000020"})
    std::filesystem::resize_file(run.path / step / model_name, 100);
  std::string words = refusal([&] { newest_whole(resolve(run.path)); });
  EXPECT_NE(words.find("none of 2 checkpoints is intact"), std::string::npos) << words;
  EXPECT_NE(words.find("step-000020/model.safetensors"), std::string::npos) << words;
}

TEST_F(Damage, AManifestThatLiesIsRefusedEvenWithARightSeal) {
  std::string good = read(newest(manifest_name));
  auto lie = [&](std::string from, std::string to) {
    std::string text = good;
    for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
      text.replace(at, from.size(), to);
    text.resize(text.size() - 36);
    put(newest(manifest_name), text + std::string(view(checksum_of(text))) + "\"\n}\n");
    return refusal([&] { verify({run.path / "step-000020", 20}); });
  };
  EXPECT_EQ(lie("nothing of the kind", ""), "");
  EXPECT_NE(lie("\"step\": 20", "\"step\": 21").find("that of step 21"), std::string::npos);
  EXPECT_NE(lie("\"step\": 20", "\"step\": \"20\""), "");
  EXPECT_NE(lie("\"step\": 20", "\"step\": -20"), "");
  EXPECT_NE(lie("model.safetensors", "../../../etc/passwd").find("stands where"), std::string::npos);
  EXPECT_NE(lie("\"tensors\": [", "\"tensors\": [1,"), "");
  EXPECT_NE(lie("\"files\": [", "\"files\": [" + std::string(100'000, '[')), "");
  EXPECT_NE(lie("\"version\": 1", "\"version\": 2").find("another release"), std::string::npos);
  EXPECT_NE(lie("wte", "wtf").find("tensor 'wte'"), std::string::npos);
  const std::string whole(view(parse_manifest(good).files[0].checksum));
  EXPECT_NE(lie(whole, std::string(whole.rbegin(), whole.rend())).find("its checksum is wrong"),
            std::string::npos);
}

TEST_F(Damage, ACheckpointOfAnotherModelIsRefusedNotReplaced) {
  Weights other(25);
  other.set(5);
  Checkpoint checkpoint = newest_whole(resolve(run.path)).checkpoint;
  std::string words = refusal([&] { load(checkpoint, other.model(), other.optimizer()); });
  EXPECT_NE(words.find("another model: tensor 'wte' has shape [24, 16], this model needs [25, 16]"),
            std::string::npos)
      << words;
  EXPECT_TRUE(other.is(5)) << "a slot was touched";
}

TEST_F(Damage, PathsMeanWhatPeopleMean) {
  auto steps = [&](const std::filesystem::path& path) {
    std::vector<uint64_t> found;
    for (const Checkpoint& each : resolve(path)) found.push_back(each.step);
    return found;
  };
  using Steps = std::vector<uint64_t>;
  EXPECT_EQ(steps(run.path), (Steps{20, 10}));
  EXPECT_EQ(steps(run.path / "step-000020"), (Steps{20, 10}));
  EXPECT_EQ(steps(run.path / "step-000020/"), (Steps{20, 10}));
  EXPECT_EQ(steps(run.path / "step-000010"), (Steps{10}));
  EXPECT_EQ(steps(newest(model_name)), (Steps{20, 10}));
  std::filesystem::copy(run.path / "step-000010", run.path / "elsewhere");
  EXPECT_EQ(steps(run.path / "elsewhere"), (Steps{10}));
  EXPECT_EQ(loaded_step(run.path / "elsewhere"), 10u);

  TemporaryFolder empty;
  EXPECT_NE(refusal([&] { resolve(empty.path); }).find("no checkpoint is in it"), std::string::npos);
  EXPECT_NE(refusal([&] { resolve(empty.path / "missing"); }).find("No such file"), std::string::npos);
  put(empty.path / "x.safetensors", std::string("\2\0\0\0\0\0\0\0{}", 10));
  EXPECT_NE(refusal([&] { resolve(empty.path / "x.safetensors"); }).find("no manifest.json beside it"),
            std::string::npos);
  put(empty.path / "x.safetensors", std::string(100, '\xff'));
  EXPECT_NE(refusal([&] { resolve(empty.path / "x.safetensors"); }).find("header claims"), std::string::npos);
  EXPECT_TRUE(list_checkpoints(empty.path / "missing").empty());
}

}  // namespace
}  // namespace plimsoll
