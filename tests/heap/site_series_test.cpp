#include "heap/site_series.hpp"

#include <gtest/gtest.h>

namespace plimsoll::heap {
namespace {

LiveSite holding(uint32_t site, uint64_t bytes) {
  LiveSite live;
  live.site = site;
  live.bytes = bytes;
  return live;
}

TEST(SiteSeries, KeepsBoundedMomentsAndAlwaysTheNewest) {
  SiteSeries series(16);
  for (int i = 0; i < 1000; ++i) {
    series.add(i, {holding(3, uint64_t(i) * 10)});
    ASSERT_LE(series.times().size(), 17u);
    ASSERT_EQ(series.times().back(), i);
    ASSERT_EQ(series.bytes(3).size(), series.times().size());
    for (size_t at = 0; at < series.times().size(); ++at)
      ASSERT_EQ(series.bytes(3)[at], float(series.times()[at] * 10));
  }
  EXPECT_EQ(series.times().front(), 0);
}

TEST(SiteSeries, CountsNothingWhereASiteHeldNothing) {
  SiteSeries series(64);
  series.add(0, {holding(1, 5)});
  series.add(1, {holding(2, 7)});
  series.add(2, {holding(1, 6)});
  ASSERT_EQ(series.bytes(1).size(), 3u);
  EXPECT_EQ(series.bytes(1)[1], 0);
  ASSERT_EQ(series.bytes(2).size(), 2u);
  EXPECT_EQ(series.bytes(2)[0], 0);
  EXPECT_EQ(series.bytes(2)[1], 7);
  EXPECT_EQ(series.peak(2), 7);
  EXPECT_TRUE(series.bytes(9).empty());
}

}  // namespace
}  // namespace plimsoll::heap
