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

// Five samples and ten steps a second: 200 MB and what the run adds to them.
OnlineVerdict watched(double seconds, double total, double fills_until, bool tells_steps) {
  OnlineVerdict online({.limit_bytes = 64e9, .patience_seconds = 60});
  for (int i = 0; i < 5 * seconds; ++i) {
    const double t = i * .2;
    if (tells_steps) online.step({t, 10 * t}, total);
    online.add({t, 200e6 + 400e3 * std::min(t, fills_until) + noise(i) / 20});
  }
  return online;
}

TEST(Online, WaitsForTheShareOfStepsThatAFirstPassMayTake) {
  const OnlineVerdict leak = watched(300, 3000, 1e9, true), fill = watched(300, 3000, 100, true);
  ASSERT_TRUE(leak.first_leak());
  EXPECT_GE(*leak.first_leak(), 120);  // 40 % of the steps
  EXPECT_LT(*leak.first_leak(), 150);
  EXPECT_FALSE(fill.first_leak());
}

TEST(Online, WithoutATotalItWaitsForItsPatience) {
  EXPECT_GE(watched(300, 0, 1e9, true).first_leak().value_or(0), 60);
  EXPECT_LT(watched(300, 0, 1e9, true).first_leak().value_or(1e9), 100);
  EXPECT_FALSE(watched(300, 0, 40, true).first_leak());
  EXPECT_GE(watched(300, 0, 1e9, false).first_leak().value_or(0), 80);  // longer where no steps are told
}

TEST(Online, GrowingHasARateAndATimeToTheLimitBeforeItIsCalled) {
  const OnlineVerdict early = watched(40, 0, 1e9, true);
  EXPECT_EQ(early.current().kind, Kind::undecided);
  EXPECT_TRUE(early.current().growing);
  EXPECT_NEAR(early.current().rate, 400e3, 100e3);
  ASSERT_TRUE(early.current().seconds_to_limit);
  EXPECT_NE(early.current().sentence.find("Growing"), std::string::npos) << early.current().sentence;
}

// Twice as fast at first, and no steps told: the rate is that of the growth, not what one of the shapes leaves of it.
TEST(Online, GrowingHasTheRateOfTheFloorWithoutStepsToo) {
  OnlineVerdict online({.limit_bytes = 64e9, .patience_seconds = 60});
  for (int i = 0; i < 200; ++i) {
    const double t = i * .2;
    online.add({t, 200e6 + 400e3 * t + 400e3 * std::min(t, 15.) + noise(i) / 20});
  }
  EXPECT_TRUE(online.current().growing);
  EXPECT_NEAR(online.current().rate, 500e3, 110e3);
}

// A program that imports for minutes rises from nothing, and has not begun.
TEST(Online, AStartUpIsNoLeak) {
  OnlineVerdict online({.limit_bytes = 64e9, .patience_seconds = 60});
  for (int i = 0; i < 700; ++i) online.add({i * .2, 2e6 + 1.5e6 * i * .2 + noise(i) / 20});
  EXPECT_FALSE(online.first_leak());
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
