#include "verdict/trend.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace plimsoll::verdict {
namespace {

std::vector<FloorPoint> floor_of(double (*bytes)(int)) {
  std::vector<FloorPoint> floor;
  for (int i = 0; i < 36; ++i) floor.push_back({double(i), bytes(i)});
  return floor;
}

TEST(Trend, ARiseLateInTheRunMayGoOnUnlessItIsOneStep) {
  EXPECT_TRUE(rose_late(floor_of([](int i) { return 100. + i; }), 3));
  EXPECT_FALSE(rose_late(floor_of([](int i) { return i < 24 ? 100. : 120.; }), 3));  // one step
  EXPECT_TRUE(rose_late(floor_of([](int i) { return i < 20 ? 100. : i < 28 ? 110. : 120.; }), 3));  // two
  // A step that was given back in part, and a slow rise after it.
  EXPECT_TRUE(rose_late(floor_of([](int i) { return i < 20 ? 100. : i < 24 ? 140. : 110. + i / 3.; }), 3));
  EXPECT_FALSE(rose_late(floor_of([](int i) { return 100. + (i < 5 ? 0 : 30); }), 3));  // early
  EXPECT_FALSE(rose_late(floor_of([](int) { return 100.; }), 3));
  EXPECT_FALSE(rose_late({}, 3));
}

TEST(Trend, ARiseUnderNoiseIsSeenOverTheWholeFloorFirst) {
  const auto noisy = floor_of([](int i) { return 100. + .3 * i + (i * 7 % 11); });
  EXPECT_FALSE(rises_lately(noisy, 1));
  EXPECT_TRUE(rises_throughout(noisy, 1));
  EXPECT_FALSE(rises_throughout(floor_of([](int i) { return 100. + std::min(i, 16) + (i * 7 % 5) / 10.; }),
                                1));  // it has ended
  EXPECT_FALSE(rises_throughout(floor_of([](int i) { return 100. + (i * 7 % 11); }), 1));
}

}  // namespace
}  // namespace plimsoll::verdict
