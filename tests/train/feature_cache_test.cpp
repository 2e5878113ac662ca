// Features are kept by use, in memory and in a file; what is damaged there is forgotten and counted.
#include "train/feature_cache.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/random.hpp"

namespace plimsoll {
namespace {

constexpr uint64_t floats = 6, all_tiles = 20;
using Features = std::vector<float>;

Features features_of(uint64_t tile) {
  Features out(floats);
  for (size_t i = 0; i < floats; ++i) out[i] = float(tile) + 0.1f * float(i);
  return out;
}

class KeptFeatures : public testing::Test {
 protected:
  KeptFeatures() : folder_(make_temporary_folder(std::filesystem::temp_directory_path() / "features-")) {}
  ~KeptFeatures() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<FeatureFile> file(uint64_t slots, uint64_t key = 7) const {
    return std::make_unique<FeatureFile>(path(), FeatureFile::Shape{key, all_tiles, floats, slots * 40});
  }
  std::filesystem::path path() const { return folder_ / "features.cache"; }
  std::string content() const { return read_file(path(), 100'000); }
  void replace(const std::string& text) const {
    std::ofstream(path(), std::ios::binary | std::ios::trunc)
        .write(text.data(), std::streamsize(text.size()));
  }

  std::filesystem::path folder_;
};

bool has(FeatureFile& file, uint64_t tile) {
  Features out(floats);
  if (!file.read(tile, out)) return false;
  EXPECT_EQ(out, features_of(tile)) << tile;
  return true;
}

TEST(ByUse, TheOldestIsTheOneUsedLongestAgo) {
  ByUse order(4);
  EXPECT_EQ(order.oldest(), 0u);
  order.use(0);
  EXPECT_EQ(order.oldest(), 1u);
  order.use(2), order.use(1);
  EXPECT_EQ(order.oldest(), 3u);
  order.use(3), order.use(3);
  EXPECT_EQ(order.oldest(), 0u);
  order.forget(3);
  EXPECT_EQ(order.oldest(), 3u);
  order.forget(3), order.use(3);
  EXPECT_EQ(order.oldest(), 0u);
  ByUse one(1);
  one.use(0), one.forget(0);
  EXPECT_EQ(one.oldest(), 0u);
}

TEST_F(KeptFeatures, AFileKeepsThemForTheNextProcess) {
  {
    auto first = file(5);
    EXPECT_EQ(first->slots(), 5u);
    for (uint64_t tile : {3, 9, 4}) first->write(tile, features_of(tile));
    EXPECT_TRUE(has(*first, 9));
    EXPECT_FALSE(has(*first, 5));
  }
  auto second = file(5);
  for (uint64_t tile : {3, 9, 4}) EXPECT_TRUE(has(*second, tile)) << tile;
  EXPECT_EQ(second->damaged(), 0u);
  second.reset();
  EXPECT_FALSE(file(5, 8)->holds(3)) << "another key is another run's";
  EXPECT_FALSE(file(5)->holds(3)) << "and begins the file anew";
}

TEST_F(KeptFeatures, AFileForgetsWhatWasUsedLongestAgo) {
  auto kept = file(3);
  for (uint64_t tile : {0, 1, 2}) kept->write(tile, features_of(tile));
  EXPECT_TRUE(has(*kept, 0));  // used again
  kept->use(2);
  kept->write(5, features_of(5));
  EXPECT_FALSE(kept->holds(1));
  for (uint64_t tile : {0, 2, 5}) EXPECT_TRUE(has(*kept, tile)) << tile;
  EXPECT_LE(content().size(), 40u + 3 * 40);
}

TEST_F(KeptFeatures, EveryDamagedBitIsNoticedAndMended) {
  {
    auto first = file(2);
    for (uint64_t tile : {3, 9}) first->write(tile, features_of(tile));
  }
  const std::string good = content();
  for (size_t at = 40; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] ^= 4;
    replace(bad);
    auto kept = file(2);
    const bool three = has(*kept, 3), nine = has(*kept, 9);
    ASSERT_EQ(int(three) + int(nine), 1) << at;
    EXPECT_LE(kept->damaged(), 1u);
    const uint64_t lost = three ? 9 : 3;
    kept->write(lost, features_of(lost));
    EXPECT_TRUE(has(*kept, lost)) << at;
  }
}

TEST_F(KeptFeatures, AnyFileIsReadWithoutHarm) {
  const CounterRng random(3, Stream::shuffle);
  {
    auto first = file(4);
    for (uint64_t tile : {3, 9, 12}) first->write(tile, features_of(tile));
  }
  const std::string good = content();
  for (uint64_t i = 0; i < 300; ++i) {
    std::string bad = good.substr(0, size_t(random.below(4 * i, good.size() + 1)));
    for (uint64_t k = 0; k < 5 && !bad.empty(); ++k)
      bad[size_t(random.below(4 * i + 1000 * k, bad.size()))] = char(random.bits(4 * i + 1 + 1000 * k));
    replace(bad);
    auto kept = file(4);
    for (uint64_t tile = 0; tile < all_tiles; ++tile) has(*kept, tile);
  }
}

TEST_F(KeptFeatures, AFileThatCannotBeOpenedIsRefused) {
  std::filesystem::create_symlink("/dev/null", path());
  EXPECT_THROW(file(3), InputError);
}

TEST_F(KeptFeatures, MemoryHoldsAStepAndTheFileTheRest) {
  Features memory(3 * floats);
  FeatureCache cache(memory, floats, all_tiles, file(10));
  for (uint64_t tile = 0; tile < 6; ++tile) {
    cache.begin();
    EXPECT_EQ(cache.find(tile), nullptr);
    cache.keep(tile, features_of(tile).data());
  }
  cache.begin();
  for (uint64_t tile : {5, 0, 1}) {
    const float* found = cache.find(tile);
    ASSERT_TRUE(found) << tile;
    EXPECT_EQ(Features(found, found + floats), features_of(tile));
  }
  EXPECT_EQ(cache.read(), 2u);
  // All three are needed by this step.
  EXPECT_THROW(cache.find(2), Error);
  cache.begin();
  EXPECT_TRUE(cache.find(2));
}

TEST_F(KeptFeatures, WithoutAFileWhatWasUsedLongestAgoIsLookedAtAgain) {
  Features memory(2 * floats);
  FeatureCache cache(memory, floats, all_tiles, nullptr);
  for (uint64_t tile : {1, 2}) cache.begin(), cache.keep(tile, features_of(tile).data());
  cache.begin();
  EXPECT_TRUE(cache.find(1));
  cache.keep(7, features_of(7).data());
  EXPECT_FALSE(cache.holds(2));
  EXPECT_TRUE(cache.holds(1) && cache.holds(7));
}

}  // namespace
}  // namespace plimsoll
