// Made-up lines of a program whose first epoch lasts 100 seconds.
#include "diagnose/survivors.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace plimsoll::diagnose {
namespace {

Epochs two_epochs() {
  Epochs epochs;
  epochs.see(1, 0);
  epochs.see(2, 100);
  return epochs;
}

// A sample of one megabyte at each of these times.
std::vector<Birth> born(double from, double until, double every) {
  std::vector<Birth> births;
  for (double time = from; time < until; time += every) births.push_back({time, 1e6});
  return births;
}

std::optional<KeptOn> judged(const std::vector<Birth>& births, double settled = 120) {
  return keeps_on(births, two_epochs(), settled, {});
}

TEST(Survivors, ALeakKeepsAsMuchOfTheSecondEpoch) {
  const auto kept = judged(born(2, 120, 4));
  ASSERT_TRUE(kept);
  EXPECT_NEAR(kept->bytes, 30e6, 1e6);
  EXPECT_NEAR(kept->rate, 0.25e6, 0.05e6);
}

TEST(Survivors, WhatFillsUpDuringTheFirstEpochKeepsNothingOfTheSecond) {
  EXPECT_FALSE(judged(born(2, 100, 4)));
  EXPECT_FALSE(judged(born(2, 103, 1)));  // the last few came late
}

TEST(Survivors, TheFirstEpochSaysNothing) {
  Epochs first;
  first.see(1, 0);
  EXPECT_FALSE(keeps_on(born(2, 100, 1), first, 100, {}));
  EXPECT_FALSE(keeps_on(born(2, 100, 1), {}, 100, {}));
}

TEST(Survivors, AFewSamplesAreNotEnough) {
  EXPECT_FALSE(judged(born(2, 120, 10), 120));
  EXPECT_TRUE(judged(born(2, 150, 10), 150));
}

TEST(Survivors, TwoBlocksThatAreAlwaysSampledAreEnough) {
  std::vector<Birth> births = born(2, 120, 10);
  for (Birth& birth : births) birth.certain = true;
  EXPECT_TRUE(judged(births, 120));
  births.back().certain = false;
  EXPECT_FALSE(judged(births, 120));
  births.pop_back();  // one of the second epoch is left, at one moment
  EXPECT_FALSE(judged(births, 120));
}

// New shapes, keys or samples become rare, but have not ended with the first epoch.
TEST(Survivors, WhatBecomesRareIsNoLeak) {
  std::vector<Birth> births = born(1, 30, 1);
  for (const Birth& birth : born(30, 120, 3)) births.push_back(birth);
  EXPECT_FALSE(judged(births));
  EXPECT_TRUE(judged(born(1, 120, 3)));
}

// Outputs that are dropped at intervals: only what came since the last time is there.
TEST(Survivors, WhatWasClearedDuringTheFirstEpochIsNoLeak) { EXPECT_FALSE(judged(born(60, 120, 2))); }

// A buffer as long as an epoch: what is new takes the place of what is oldest.
TEST(Survivors, WhatReplacesTheFirstEpochIsNoLeak) {
  const std::vector<Birth> just_ended = born(1, 103, 1), later = born(16, 116, 1);
  const double most = kept_of_first(just_ended, two_epochs());
  EXPECT_DOUBLE_EQ(most, 99e6);
  EXPECT_TRUE(keeps_on(just_ended, two_epochs(), 103, {}, most));
  EXPECT_FALSE(keeps_on(later, two_epochs(), 116, {}, most));
  EXPECT_FALSE(keeps_on(born(3, 105, 1), two_epochs(), 105, {}, most));  // the next look
  EXPECT_TRUE(keeps_on(born(1, 116, 1), two_epochs(), 116, {}, most));
}

TEST(Survivors, WhatComesOnceWithTheNewEpochIsNoLeak) {
  std::vector<Birth> births = born(2, 100, 4);
  for (int i = 0; i < 20; ++i) births.push_back({100.5 + i * 0.001, 1e6});
  EXPECT_FALSE(judged(births));
}

TEST(Survivors, WhatMayStillBeFreedDoesNotCount) {
  std::vector<Birth> births = born(2, 100, 4);
  for (int i = 0; i < 20; ++i) births.push_back({120 + i * 0.1, 1e6});
  EXPECT_FALSE(judged(births, 120));
}

// On a machine that became four times as busy with the second epoch a leak is a quarter as fast in time, and as fast in
// steps.
TEST(Survivors, RatesAreComparedInStepsWhereTheyAreTold) {
  std::vector<Birth> births = born(2, 100, 2);
  for (const Birth& birth : born(104, 150, 8)) births.push_back(birth);
  EXPECT_FALSE(keeps_on(births, two_epochs(), 150, {}));
  const std::vector<verdict::StepMark> steps = {{0, 0}, {100, 100}, {150, 112}};
  EXPECT_TRUE(keeps_on(births, two_epochs(), 150, steps));
}

TEST(Survivors, ProgressGoesOnBetweenAndBeyondMarks) {
  const std::vector<verdict::StepMark> steps = {{10, 0}, {20, 10}, {40, 20}};
  EXPECT_DOUBLE_EQ(progress_at(15, steps), 5);
  EXPECT_DOUBLE_EQ(progress_at(30, steps), 15);
  EXPECT_DOUBLE_EQ(progress_at(50, steps), 25);
  EXPECT_DOUBLE_EQ(progress_at(8, steps), -2);
  EXPECT_DOUBLE_EQ(progress_at(8, {}), 8);
}

}  // namespace
}  // namespace plimsoll::diagnose
