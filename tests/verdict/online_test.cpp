// The verdict while samples arrive, and the series it keeps.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "verdict/compact.hpp"
#include "verdict/verdict.hpp"

namespace plimsoll::verdict {
namespace {

TEST(CompactSeries, IsBoundedAndKeepsExtremes) {
  CompactSeries series;
  for (int i = 0; i < 1'000'000; ++i) series.add({double(i), i == 345'678 ? 9e9 : 1e9 + i % 7});
  EXPECT_LE(series.buckets().size(), CompactSeries::capacity);
  EXPECT_EQ(series.samples(), 1'000'000u);
  EXPECT_EQ(series.first_time(), 0);
  EXPECT_EQ(series.last_time(), 999'999);
  double highest = 0, lowest = 1e18;
  size_t counted = 0;
  for (const Bucket& b : series.buckets())
    highest = std::max(highest, b.highest), lowest = std::min(lowest, b.lowest[0]), counted += b.count;
  EXPECT_EQ(highest, 9e9);
  EXPECT_EQ(lowest, 1e9);
  EXPECT_EQ(counted, 1'000'000u);
}

TEST(CompactSeries, RefusesWhatIsNotLater) {
  CompactSeries series;
  series.add({5, 1}), series.add({5, 1}), series.add({4, 1}), series.add({6, std::nan("")}),
      series.add({7, 2});
  EXPECT_EQ(series.samples(), 2u);
  EXPECT_EQ(series.refused(), 3u);
}

double noise(int i) {
  std::mt19937 engine(static_cast<unsigned>(i));
  return std::normal_distribution<double>(0, 4e6)(engine);
}

TEST(Online, CallsALeakBeforeTheEndAndKeepsIt) {
  OnlineVerdict online({.limit_bytes = 8e9});
  for (int i = 0; i < 2000; ++i) online.add({double(i), 2e9 + 3e5 * i + noise(i)});
  ASSERT_TRUE(online.first_leak());
  EXPECT_LT(*online.first_leak(), 1300);
  EXPECT_EQ(online.current().kind, Kind::leak);
  EXPECT_EQ(online.final_verdict().kind, Kind::leak);
}

TEST(Online, NeverCallsNoiseASpikeOrAWarmUpALeak) {
  OnlineVerdict flat, spiky, warming;
  for (int i = 0; i < 3000; ++i) {
    flat.add({double(i), 2e9 + noise(i)});
    spiky.add({double(i), 2e9 + noise(i) + (i % 100 > 90 ? 1e9 : 0)});
    warming.add({double(i), 2e9 + noise(i) + 1e9 * (1 - std::exp(-i / 30.))});
  }
  EXPECT_FALSE(flat.first_leak());
  EXPECT_FALSE(spiky.first_leak());
  EXPECT_FALSE(warming.first_leak());
  EXPECT_EQ(flat.final_verdict().kind, Kind::no_leak);
}

TEST(Online, SaysGrowingWhileACacheFills) {
  OnlineVerdict online;
  for (int i = 0; i < 70; ++i) online.add({double(i), 2e9 + 2e6 * i + noise(i)});
  EXPECT_EQ(online.current().kind, Kind::undecided);
  EXPECT_TRUE(online.current().growing);
}

// Filling for 500 samples, straight and long enough for any test, then full.
TEST(Online, IsPatientWithACacheThatFills) {
  OnlineVerdict online;
  for (int i = 0; i < 500; ++i) online.add({double(i), 2e9 + 2e6 * i + noise(i)});
  EXPECT_EQ(online.current().kind, Kind::undecided);
  EXPECT_TRUE(online.current().growing);
  for (int i = 500; i < 2000; ++i) online.add({double(i), 3e9 + noise(i)});
  EXPECT_FALSE(online.first_leak());
}

// The same rise, but the line is near: waiting would cost the run.
TEST(Online, IsNotPatientWhenTheLineIsNear) {
  OnlineVerdict online({.limit_bytes = 3.2e9});
  for (int i = 0; i < 500; ++i) online.add({double(i), 2e9 + 2e6 * i + noise(i)});
  ASSERT_TRUE(online.first_leak());
  EXPECT_GT(*online.first_leak(), 299);
  EXPECT_LT(*online.first_leak(), 450);
}

}  // namespace
}  // namespace plimsoll::verdict
