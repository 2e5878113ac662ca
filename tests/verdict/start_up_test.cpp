// Where a program has loaded its code, by the pages of mapped files.
#include "verdict/start_up.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "verdict/verdict.hpp"

namespace plimsoll::verdict {
namespace {

constexpr double mb = 1e6;

double over(const std::function<double(double)>& mapped, double until) {
  StartUp start_up;
  for (double t = 0; t < until; t += .2) start_up.see(t, mapped(t));
  return start_up.over(until, 0);
}

// Libraries are mapped in 10 s, modules are read until 60 s, and then the loop's code is used for the first time.
double imports(double t) { return (t < 10 ? 5 + 7 * t : t < 60 ? 75 + t / 10 : 94) * mb; }

TEST(StartUp, EndsWhereTheLoopsCodeIsUsed) {
  EXPECT_NEAR(over(imports, 200), 60, .5);
  EXPECT_NEAR(over(imports, 50), 10, 1);  // what comes later is not known yet
}

TEST(StartUp, OneSampleBetweenTwoCountersIsNothing) {
  EXPECT_NEAR(over([](double t) { return imports(t) + (t > 100 && t < 100.3 ? 40 * mb : 0); }, 200), 60, .5);
}

TEST(StartUp, AFurtherProcessIsNoCode) {
  EXPECT_NEAR(over([](double t) { return imports(t) * (t > 90 ? 2 : 1); }, 200), 60, .5);
}

// A data set that is read on and on through a mapping: most of the run is judged all the same.
TEST(StartUp, AFileThatIsReadDoesNotHideTheRun) {
  EXPECT_LT(over([](double t) { return (10 + t) * mb; }, 200), 150);
  EXPECT_EQ(over([](double) { return 10 * mb; }, 200), 0);
}

double seems_over(const std::function<double(double)>& mapped, double until) {
  StartUp start_up;
  for (double t = 0; t < until; t += .2) start_up.see(t, mapped(t));
  return start_up.seems_over(until, 0);
}

TEST(StartUp, WhileRunningItIsOverSoonAfterTheLastCodeWasLoaded) {
  EXPECT_NEAR(seems_over(imports, 80), 60, .5);
  EXPECT_NEAR(over(imports, 80), 10, 1);        // of a run that has ended it may be something late
  EXPECT_NEAR(seems_over(imports, 70), 10, 1);  // more may follow
  EXPECT_EQ(seems_over([](double) { return 10 * mb; }, 200), 0);
  // A file that is read on and on has no last time.
  EXPECT_LT(seems_over([](double t) { return (10 + t) * mb; }, 200), 150);
  EXPECT_LT(seems_over([](double t) { return (10 + t) * mb; }, 206), 150);
}

// 60 s of imports that take memory fast, and a loop that loses it slowly.
TEST(StartUp, IsNotJudged) {
  StartUp start_up;
  std::vector<Sample> samples;
  for (double t = 0; t < 200; t += .2) {
    start_up.see(t, imports(t));
    samples.push_back({t, (t < 60 ? 80 + 2 * t : 200 + .2 * (t - 60)) * mb});
  }
  Options options;
  options.loaded = start_up.over(200, 0);
  const Verdict with = judge(samples, options), without = judge(samples);
  EXPECT_GE(with.judged_from, 60);
  EXPECT_EQ(with.kind, Kind::leak);
  EXPECT_NEAR(with.rate, .2 * mb, .01 * mb);
  EXPECT_LT(without.judged_from, 60);
}

}  // namespace
}  // namespace plimsoll::verdict
