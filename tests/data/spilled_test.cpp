#include "data/spilled.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace plimsoll {
namespace {

// Any piece of the array is what was put there, whether it lies in the file, in memory, or across the border.
TEST(Spilled, GivesBackWhatWasPutThereWhereverItLies) {
  for (const size_t kept : {8u, 60u, 1000u, 100'000u}) {
    Spilled<int32_t> array(kept);
    std::vector<int32_t> all(2000);
    std::iota(all.begin(), all.end(), -7);
    for (size_t at = 0, count = 1; at < all.size(); at += count, count = count % 50 + 1)
      array.append(std::span(all).subspan(at, count = std::min(count, all.size() - at)));
    for (const bool finished : {false, true}) {
      ASSERT_EQ(array.size(), all.size());
      EXPECT_EQ(array[0], all[0]);
      EXPECT_EQ(array[1999], all[1999]);
      for (const size_t first : {0u, 1u, 13u, 250u, 1900u}) {
        std::vector<int32_t> piece(100);
        array.read(first, piece);
        EXPECT_TRUE(std::equal(piece.begin(), piece.end(), all.begin() + ptrdiff_t(first)))
            << kept << ' ' << first;
      }
      if (!finished) array.finish();
    }
  }
}

TEST(Spilled, IsReadOnWhileItGrowsAndAfterAMove) {
  Spilled<uint64_t> array(16);
  for (uint64_t i = 0; i < 100; ++i) {
    array.push_back(i * i);
    EXPECT_EQ(array[i / 2], i / 2 * (i / 2));
  }
  const Spilled<uint64_t> moved = std::move(array);
  EXPECT_EQ(moved[99], 99u * 99u);
}

}  // namespace
}  // namespace plimsoll
