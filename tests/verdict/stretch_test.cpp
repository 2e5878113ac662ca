// What is judged: without the start-up and the coming down, and by steps where they move with the program.
#include "verdict/stretch.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.hpp"

namespace plimsoll::verdict {
namespace {

constexpr double mb = 1e6;

CompactSeries series_of(const std::vector<Sample>& samples) {
  CompactSeries series;
  for (const Sample& s : samples) series.add(s);
  return series;
}

// 60 s of imports from nothing to 200 MB, a loop of 200 s, 20 s in which the program takes itself apart.
std::vector<Sample> run(double loses_per_second, double level_at_exit = 150) {
  std::vector<Sample> samples;
  CounterRng noise(7, Stream::sampling);
  for (int i = 0; i < 1400; ++i) {
    const double t = i * .2;
    const double bytes = t < 60    ? 3 + 197 * std::sqrt(t / 60)
                         : t < 260 ? 200 + loses_per_second * (t - 60) + .3 * noise.uniform(uint64_t(i))
                                   : level_at_exit;
    samples.push_back({t, bytes * mb});
  }
  return samples;
}

// Ten steps a second in the first half of the loop, thirty in the second.
double step_at(double t) { return t < 160 ? 10 * (t - 60) : 1000 + 30 * (t - 160); }

std::vector<StepMark> steps() {
  std::vector<StepMark> marks;
  for (double t = 60; t <= 260; t += .5) marks.push_back({t, step_at(t)});
  return marks;
}

TEST(Stretch, WithoutStepsTheStartUpAndTheComingDownAreLeftOut) {
  for (double loses : {0., .05, .3}) {
    const Stretch stretch = judged_stretch(series_of(run(loses)), {.ended = true});
    EXPECT_FALSE(stretch.work.known());
    EXPECT_GT(stretch.first_time, 30) << loses;
    EXPECT_LT(stretch.first_time, 80) << loses;
    EXPECT_NEAR(stretch.last_time, 260, 2) << loses;
  }
}

TEST(Stretch, ALeakIsCalledWithItsRateDespiteHeadAndTail) {
  const Verdict leak = judge(run(.2), {.ended = true});
  EXPECT_EQ(leak.kind, Kind::leak);
  EXPECT_NEAR(leak.rate, .2 * mb, .01 * mb);
  EXPECT_LE(leak.rate_low, .2 * mb);
  EXPECT_GE(leak.rate_high, .2 * mb);
  EXPECT_EQ(judge(run(0), {.ended = true}).kind, Kind::no_leak);
}

// What was attached to while it stood keeps its beginning.
TEST(Stretch, ASeriesThatBeginsAtItsLevelIsNotCut) {
  std::vector<Sample> samples = run(.2);
  samples.erase(samples.begin(), samples.begin() + 300);
  EXPECT_NEAR(judged_stretch(series_of(samples), {}).first_time, 60, .3);
}

TEST(Stretch, StepsAreTheAxisWhereTheyMove) {
  std::vector<Sample> samples = run(0);
  for (Sample& s : samples)
    if (s.time > 60 && s.time < 260) s.bytes += 20e3 * step_at(s.time);
  const auto marks = steps();
  const Stretch stretch = judged_stretch(series_of(samples), {.steps = marks});
  ASSERT_TRUE(stretch.work.known());
  EXPECT_NEAR(stretch.first_time, 70, 1);  // a twentieth after the first step
  EXPECT_NEAR(stretch.last_time, 260, 2);
  const Verdict v = judge(samples, {.steps = marks});
  ASSERT_EQ(v.kind, Kind::leak);
  EXPECT_TRUE(v.by_steps);
  EXPECT_NEAR(*v.rate_per_step, 20e3, 400);
  EXPECT_NEAR(v.rate, 20e3 * 3900 / 190, 20e3);  // 3,900 steps in the 190 s that are judged
}

TEST(Stretch, ACounterThatStandsStillIsNotUsed) {
  std::vector<StepMark> frozen;
  for (int i = 0; i < 12; ++i) frozen.push_back({60 + i * .5, double(i)});
  const Verdict v = judge(run(.2), {.steps = frozen, .ended = true});
  EXPECT_FALSE(v.by_steps);
  EXPECT_FALSE(v.rate_per_step);
  EXPECT_EQ(v.kind, Kind::leak);
  EXPECT_NEAR(v.rate, .2 * mb, .01 * mb);
}

// Output that was held back comes in bursts: thousands of lines in three moments are three marks.
TEST(Stretch, BurstsOfHeldBackOutputGiveNoRatePerStep) {
  std::vector<StepMark> bursts;
  for (double t : {120., 180., 240.})
    for (int i = 0; i < 500; ++i) bursts.push_back({t + i * 1e-5, (t - 120) * 10 + i});
  EXPECT_FALSE(judge(run(.2), {.steps = bursts, .ended = true}).rate_per_step);
}

// A loop that has ended before the program did: steps hold for the part they cover.
TEST(Stretch, ALongExitAfterTheLastStepIsLeftOut) {
  std::vector<Sample> samples = run(.2, 235);
  const double last = samples.back().time;
  for (int i = 1; i < 500; ++i) samples.push_back({last + i * .2, 235 * mb});
  const auto marks = steps();
  const Verdict v = judge(samples, {.steps = marks});
  EXPECT_TRUE(v.by_steps);
  EXPECT_EQ(v.kind, Kind::leak);
  EXPECT_NEAR(v.judged_until, 260, 2);
}

TEST(Epochs, GrowthInsideTheFirstEpochMayEndWithIt) {
  const auto marks = steps();
  Options options{.steps = marks, .first_epoch_end = std::numeric_limits<double>::infinity()};
  Verdict v = judge(run(.2), options);
  EXPECT_EQ(v.kind, Kind::undecided);
  EXPECT_TRUE(v.growing);
  EXPECT_TRUE(v.may_end_with_epoch);
  EXPECT_NE(v.sentence.find("may end with the first epoch, and the second will tell."), std::string::npos)
      << v.sentence;
  EXPECT_NE(v.sentence.find(" per step, from "), std::string::npos) << v.sentence;
  EXPECT_EQ(v.needs_seconds, 0);  // an epoch may be of any length
  EXPECT_GT(v.rate, 0);
  options.first_epoch_end = 120;  // and it grew on in the second and the third
  v = judge(run(.2), options);
  EXPECT_EQ(v.kind, Kind::leak);
}

}  // namespace
}  // namespace plimsoll::verdict
