#include "optim/schedule.hpp"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

TEST(Schedule, RisesFromItsFirstStepToThePeakAndFallsToTheMinimum) {
  const Schedule schedule{.peak = 1, .minimum = .1, .warmup = 4, .steps = 104};
  EXPECT_DOUBLE_EQ(schedule.at(0), .25);
  EXPECT_DOUBLE_EQ(schedule.at(3), 1);
  EXPECT_DOUBLE_EQ(schedule.at(4), 1);
  EXPECT_DOUBLE_EQ(schedule.at(54), .55);
  EXPECT_GT(schedule.at(103), .1);
  EXPECT_LT(schedule.at(103), .11);
  EXPECT_DOUBLE_EQ(schedule.at(104), .1);
}

TEST(Schedule, WithoutWarmUpTheFirstStepHasThePeak) {
  const Schedule schedule{.peak = 1, .minimum = 0, .warmup = 0, .steps = 1};
  EXPECT_DOUBLE_EQ(schedule.at(0), 1);
  EXPECT_DOUBLE_EQ(schedule.at(1), 0);
}

}  // namespace
}  // namespace plimsoll
