// What a step gets to see are the pictures of its windows in their order, whatever is kept, decoded ahead or asked for in between.
#include "train/picture_feed.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "base/file.hpp"
#include "data/shapes.hpp"
#include "platform/allocations.hpp"
#include "train/run_folder.hpp"
#include "train/way.hpp"

namespace plimsoll {
namespace {

constexpr uint64_t windows_a_step = 4;

class FedPictures : public testing::Test {
 protected:
  FedPictures() : folder_(make_temporary_folder(std::filesystem::temp_directory_path() / "feed-")) {
    write_shapes(folder_ / "set", 60, 1);
    settings_ = vision_defaults("tiny");
    settings_.data = folder_ / "set/train.jsonl";
    settings_.image_buffer = "1MB", settings_.threads = 1, settings_.accumulate = int(windows_a_step);
    corpus_ = open_corpus(settings_);
    batches_.emplace(*corpus_, 1, int(windows_a_step), settings_.context);
  }
  ~FedPictures() override { std::filesystem::remove_all(folder_); }

  // One window at a time. With `frozen` the tower is not trained, and `kept` bytes hold what it sees, or what a step needs.
  std::unique_ptr<Runtime> runtime(bool frozen, int loaders, const char* kept = "") const {
    Settings s = settings_;
    s.loaders = loaders, s.image_cache = kept, s.micro_batch = 1, s.lanes = 1;
    ProgramOptions options = program_options(s, corpus_->vocabulary());
    if (frozen)
      options.model.storage = [](std::string_view name, int) {
        return Storage{.frozen = name.find("text_model") == name.npos};
      };
    auto made = std::make_unique<Runtime>(options, 1, kernels::open_backend("native"), false);
    made->initialise(1);
    return made;
  }
  uint64_t epoch() const { return corpus_->packed()->windows(Split::train) / windows_a_step; }

  std::filesystem::path folder_;
  Settings settings_;
  std::unique_ptr<Corpus> corpus_;
  std::optional<Batches> batches_;
};

std::vector<std::byte> bytes_of(Runtime& runtime, ValueId value) {
  const std::byte* begin = runtime.executor().bytes(value, 0);
  return {begin, begin + runtime.graph()[value].type.bytes()};
}

// What each window of a step gets.
std::vector<std::vector<std::byte>> fed(Runtime& runtime, PictureFeed& feed, const Batches& batches,
                                        uint64_t step) {
  const Program& program = runtime.program();
  std::vector<std::vector<std::byte>> out;
  EXPECT_TRUE(feed.prepare(batches, step, windows_a_step, {}));
  for (uint64_t row = 0; row < windows_a_step; ++row) {
    const ValueId input = program.pixels != no_value ? program.pixels : program.seen;
    std::memset(runtime.executor().bytes(input, 0), 0xff, size_t(runtime.graph()[input].type.bytes()));
    feed.fill(batches, step, row, 1, 0);
    out.push_back(bytes_of(runtime, input));
  }
  return out;
}

TEST_F(FedPictures, ATrainedTowerGetsThePixelsOfItsWindowsAndNothingElse) {
  const PackedCorpus& packed = *corpus_->packed();
  const Pictures& pictures = *packed.pictures();
  for (const int loaders : {0, 3}) {
    const auto made = runtime(false, loaders);
    PictureFeed feed(*made, *corpus_, loaders);
    ASSERT_TRUE(feed.active());
    size_t seen = 0;
    for (const uint64_t step : {0, 1, 2, 7, 3, 4}) {  // on, and elsewhere than was decoded ahead
      const auto found = fed(*made, feed, *batches_, step);
      for (uint64_t row = 0; row < windows_a_step; ++row) {
        std::vector<uint32_t> numbers(64);
        numbers.resize(packed.pictures(Split::train, batches_->window(step, row), numbers));
        std::vector<std::byte> wanted;
        for (const uint32_t picture : numbers) {
          std::vector<uint8_t> buffer(pictures.options().buffer);
          for (const uint8_t byte : pictures.load(picture, buffer)) wanted.push_back(std::byte(byte));
        }
        wanted.resize(found[row].size());  // the rest is 0
        EXPECT_EQ(found[row], wanted)
            << "step " << step << ", window " << row << ", " << loaders << " loaders";
        seen += numbers.size();
      }
    }
    EXPECT_GT(seen, 6 * windows_a_step);
    EXPECT_GE(feed.counts().looked, seen);
  }
}

TEST_F(FedPictures, WhatAFrozenTowerSeesDependsNeitherOnLoadersNorOnWhatIsKept) {
  const auto plain = runtime(true, 0);
  PictureFeed alone(*plain, *corpus_, 0);
  std::vector<std::vector<std::vector<std::byte>>> wanted;
  for (uint64_t step = 0; step < 2 * epoch(); ++step) wanted.push_back(fed(*plain, alone, *batches_, step));
  EXPECT_NE(wanted[0], wanted[1]);
  const Evaluation validation = Evaluation::whole(*corpus_, settings_.context, 0);
  ASSERT_GE(validation.windows(), 3u);
  for (const auto& [loaders, kept] : {std::pair{3, ""}, {0, "40KB"}, {2, "40KB"}, {3, "4MB"}}) {
    const auto made = runtime(true, loaders, kept);
    PictureFeed feed(*made, *corpus_, loaders);
    for (uint64_t step = 0; step < wanted.size(); ++step) {
      if (step % 5 == 2) feed.evaluate(validation, step % 3, 1, {});
      EXPECT_EQ(fed(*made, feed, *batches_, step), wanted[step])
          << step << ", " << loaders << " loaders, " << kept;
    }
    const uint64_t tiles = corpus_->packed()->pictures()->tiles(), looked = feed.counts().looked;
    if (std::string_view(kept) == "4MB")
      EXPECT_LE(looked, tiles) << "each is looked at once";
    else
      EXPECT_GT(looked, tiles);
    EXPECT_GT(feed.counts().kept, 0u);
  }
}

TEST_F(FedPictures, AStepThatIsLeftCanBePreparedAgain) {
  const auto plain = runtime(true, 0), made = runtime(true, 3);
  PictureFeed alone(*plain, *corpus_, 0), feed(*made, *corpus_, 3);
  for (uint64_t step = 0; step < 4; ++step) {
    int asked = 0;
    EXPECT_FALSE(feed.prepare(*batches_, step, windows_a_step,
                              {[](void* count) { return ++*static_cast<int*>(count) > 2; }, &asked}));
    EXPECT_EQ(fed(*made, feed, *batches_, step), fed(*plain, alone, *batches_, step)) << step;
  }
}

TEST_F(FedPictures, NothingIsAllocatedAfterTheFirstStep) {
  if (!allocations_counted()) GTEST_SKIP() << "a sanitizer has a malloc of its own";
  for (const bool frozen : {false, true}) {
    const auto made = runtime(frozen, 2, frozen ? "40KB" : "");
    PictureFeed feed(*made, *corpus_, 2);
    const auto step = [&](uint64_t number) {
      feed.prepare(*batches_, number, windows_a_step, {});
      for (uint64_t row = 0; row < windows_a_step; ++row) feed.fill(*batches_, number, row, 1, 0);
    };
    step(0);
    const uint64_t before = allocations();
    for (uint64_t number = 1; number < epoch() + 2; ++number) step(number);
    EXPECT_EQ(allocations() - before, 0u) << (frozen ? "frozen" : "trained");
  }
}

}  // namespace
}  // namespace plimsoll
