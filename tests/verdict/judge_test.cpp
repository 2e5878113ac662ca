// The verdict on individual series of each kind, its invariances, and its behaviour on bad input.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "verdict/verdict.hpp"

namespace plimsoll::verdict {
namespace {

using Series = std::vector<Sample>;

// `f` in units of the base over u in [0, 1]; half a percent of noise.
Series series(const std::function<double(double)>& f, size_t count = 600, double noise = .005,
              double base = 2e9) {
  std::mt19937_64 engine(7);
  std::normal_distribution<double> normal(0, noise);
  Series out;
  for (size_t i = 0; i < count; ++i) {
    double u = double(i) / double(count - 1);
    out.push_back({double(i), base * (1 + f(u) + normal(engine))});
  }
  return out;
}

double spikes(double u) { return std::fmod(u, .08) > .07 ? .7 : 0; }
// Workers that are made anew: what they hold is given back and taken again.
double dips(double u) {
  return (u > .16 && u < .22) || (u > .56 && u < .62) || (u > .79 && u < .85) ? -.12 : 0;
}
double sawtooth(double u) { return .15 * std::fmod(u / .03, 1.); }

TEST(Judge, SteadyLeakWithItsRate) {
  Verdict v = judge(series([](double u) { return .3 * u; }), {.limit_bytes = 4e9});
  EXPECT_EQ(v.kind, Kind::leak);
  EXPECT_TRUE(v.growing);
  EXPECT_NEAR(v.rate, .3 * 2e9 / 599, .03 * .3 * 2e9 / 599);
  EXPECT_LE(v.rate_low, .3 * 2e9 / 599);
  EXPECT_GE(v.rate_high, .3 * 2e9 / 599);
  EXPECT_NEAR(v.floor_end, 2.6e9, .02 * 2.6e9);
  ASSERT_TRUE(v.seconds_to_limit);
  EXPECT_NEAR(*v.seconds_to_limit, 1.4e9 / (.3 * 2e9 / 599), 90);
  EXPECT_NE(v.sentence.find("Leak"), std::string::npos);
}

TEST(Judge, MemoryGivenBackForAMomentChangesNothing) {
  const Verdict leak = judge(series([](double u) { return .2 * u + dips(u); }));
  EXPECT_EQ(leak.kind, Kind::leak) << leak.sentence;
  EXPECT_NEAR(leak.rate, .2 * 2e9 / 599, .04 * .2 * 2e9 / 599);
  EXPECT_EQ(judge(series([](double u) { return dips(u); })).kind, Kind::no_leak);
  EXPECT_NE(judge(series([](double u) { return .2 * std::min(1., u / .5) + dips(u); })).kind, Kind::leak)
      << "a cache that filled";
}

TEST(Judge, LeaksOfEveryKind) {
  EXPECT_EQ(judge(series([](double u) { return .12 * u + spikes(u); })).kind, Kind::leak)
      << "slow under spikes";
  EXPECT_EQ(judge(series([](double u) { return .15 * u + sawtooth(u); })).kind, Kind::leak)
      << "under a saw-tooth";
  EXPECT_EQ(judge(series([](double u) { return .2 * std::floor(u * 15) / 15; })).kind, Kind::leak)
      << "staircase";
  EXPECT_EQ(judge(series([](double u) { return .15 * std::max(0., u - .5) / .5; })).kind, Kind::leak)
      << "late start";
  EXPECT_EQ(judge(series([](double u) { return .2 * u * u; })).kind, Kind::leak) << "accelerating";
  EXPECT_EQ(judge(series([](double u) { return .2 * u + .3 * (1 - std::exp(-u / .03)); })).kind, Kind::leak)
      << "after a warm-up";
  EXPECT_EQ(judge(series([](double u) { return .2 * u + (u > .4 ? .15 : 0); })).kind, Kind::leak)
      << "with a step";
}

TEST(Judge, BenignOfEveryKind) {
  EXPECT_EQ(judge(series([](double) { return 0; })).kind, Kind::no_leak) << "flat";
  EXPECT_EQ(judge(series(spikes)).kind, Kind::no_leak) << "validation spikes";
  EXPECT_EQ(judge(series(sawtooth)).kind, Kind::no_leak) << "saw-tooth";
  EXPECT_EQ(judge(series([](double u) { return .4 * (1 - std::exp(-u / .05)); })).kind, Kind::no_leak)
      << "warm-up";
  EXPECT_EQ(judge(series([](double u) { return u > .6 ? .2 : 0; })).kind, Kind::no_leak) << "one step";
  EXPECT_EQ(judge(series([](double u) { return .3 * std::min(u, .5) / .5; })).kind, Kind::no_leak)
      << "cache that fills and stops";
  EXPECT_EQ(judge(series([](double u) { return -.2 * u; })).kind, Kind::no_leak) << "shrinking";
  EXPECT_NE(judge(series([](double u) { return .2 * std::log1p(u / .01) / std::log1p(100); })).kind,
            Kind::leak)
      << "fragmentation";
  EXPECT_NE(judge(series([](double u) { return .1 * std::fmod(u * 3.4, 1.); })).kind, Kind::leak)
      << "long epochs";
}

TEST(Judge, OnsetAndSpikes) {
  Verdict v = judge(series([](double u) { return .3 * std::max(0., u - .5) / .5; }));
  EXPECT_NEAR(v.onset, 300, 60);
  std::vector<Phase> phases;
  for (double at = .07; at < 1; at += .08) phases.push_back({at * 599 - 1, (at + .01) * 599 + 1, "validate"});
  v = judge(series(spikes), {.phases = phases});
  EXPECT_EQ(v.spikes.count, 12u);
  EXPECT_NEAR(v.spikes.typical_bytes, 1.4e9, .1e9);
  EXPECT_EQ(v.spikes.phase, "validate");
}

TEST(Judge, RatePerStep) {
  std::vector<StepMark> marks;
  for (double t = 0; t < 600; t += 7) marks.push_back({t, 4 * t});
  Verdict v = judge(series([](double u) { return .3 * u; }), {.steps = marks});
  ASSERT_TRUE(v.rate_per_step);
  EXPECT_NEAR(*v.rate_per_step, v.rate / 4, v.rate / 400);
  EXPECT_FALSE(judge(series([](double u) { return .3 * u; })).rate_per_step);
}

// 250 kB lost at every step of a program that changes its speed half-way: what a step costs is the same all
// along, a second is not.
TEST(Judge, RatePerStepWhereTheSpeedChanges) {
  for (double later : {2., 8., 16.}) {
    auto step = [=](double t) { return t < 300 ? 4 * t : 1200 + later * (t - 300); };
    std::vector<StepMark> marks;
    for (double t = 0; t < 600; t += 2) marks.push_back({t, step(t)});
    Verdict v = judge(series([&](double u) { return step(u * 599) * 250e3 / 2e9; }), {.steps = marks});
    ASSERT_EQ(v.kind, Kind::leak) << later;
    EXPECT_NEAR(*v.rate_per_step, 250e3, 12e3) << later;
  }
}

TEST(Judge, RulesOutWhatItSays) {
  Verdict v = judge(series([](double) { return 0; }));
  EXPECT_EQ(v.kind, Kind::no_leak);
  EXPECT_GT(v.ruled_out_rate, 0);
  EXPECT_LT(v.ruled_out_rate, .04 * 2e9 / 599);
  const double growth = v.ruled_out_rate * 599 / 2e9;
  EXPECT_EQ(judge(series([&](double u) { return growth * u; })).kind, Kind::leak);
}

TEST(Judge, TooFewSamplesSaysHowLong) {
  Verdict v = judge(series([](double u) { return u; }, 12));
  EXPECT_EQ(v.kind, Kind::undecided);
  EXPECT_GT(v.needs_seconds, 0);
  EXPECT_EQ(judge({}).kind, Kind::undecided);
  EXPECT_EQ(judge(Series{{0, 1}}).kind, Kind::undecided);
}

TEST(Judge, DoesNotDependOnUnitsOrOrigin) {
  for (auto& f :
       std::vector<std::function<double(double)>>{[](double u) { return .1 * u + spikes(u); }, sawtooth,
                                                  [](double u) { return .3 * std::min(u, .5); }}) {
    Series original = series(f), moved = original, slower = original, bigger = original;
    for (Sample& s : moved) s.time += 1.7e9;
    for (Sample& s : slower) s.time *= 3600;
    for (Sample& s : bigger) s.bytes *= 50;
    Verdict v = judge(original);
    for (const Series& other : {moved, slower, bigger}) {
      EXPECT_EQ(judge(other).kind, v.kind);
      EXPECT_NEAR(judge(other).evidence, v.evidence, .01 + .001 * std::abs(v.evidence));
    }
    EXPECT_NEAR(judge(slower).rate * 3600, v.rate, 1e-6 * std::abs(v.rate) + 1e-9);
    EXPECT_NEAR(judge(bigger).rate / 50, v.rate, 1e-6 * std::abs(v.rate) + 1e-9);
  }
}

TEST(Judge, BadSamplesAreLeftOut) {
  Series good = series([](double u) { return .3 * u; }), bad = good;
  bad.push_back({1e300, 5});
  bad.push_back({3, std::nan("")});
  bad.push_back({std::nan(""), 3});
  bad.push_back({4.5, -1});
  bad.push_back({5.5, std::numeric_limits<double>::infinity()});
  bad.push_back(good[100]);  // the same instant twice
  std::reverse(bad.begin(), bad.end());
  Verdict a = judge(good), b = judge(bad);
  EXPECT_EQ(b.samples, good.size());
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_DOUBLE_EQ(a.rate, b.rate);
}

TEST(Judge, ConstantsAndZeros) {
  EXPECT_EQ(judge(series([](double) { return 0; }, 300, 0)).kind, Kind::no_leak);
  EXPECT_EQ(judge(series([](double) { return -1; }, 300, 0)).kind, Kind::no_leak);
}

TEST(Judge, AGapIsNotALeak) {
  Series s = series([](double) { return 0; });
  for (size_t i = 300; i < s.size(); ++i) s[i].time += 40000;  // a suspended laptop
  EXPECT_NE(judge(s).kind, Kind::leak);
  s = series([](double u) { return .5 * u; });
  for (size_t i = 300; i < s.size(); ++i) s[i].time += 60;
  EXPECT_EQ(judge(s).kind, Kind::leak);
}

RC_GTEST_PROP(Judge, AnythingGivesFiniteAnswers, ()) {
  const auto count = *rc::gen::inRange<size_t>(0, 120);
  const auto steps = *rc::gen::container<std::vector<int>>(count, rc::gen::inRange(-2, 1000));
  const auto values = *rc::gen::container<std::vector<double>>(count, rc::gen::arbitrary<double>());
  const int scale = *rc::gen::inRange(-300, 300);
  Series s;
  double time = 0;
  for (size_t i = 0; i < count; ++i) s.push_back({time += steps[i], values[i] * std::pow(10., scale)});
  Verdict v = judge(s, {.limit_bytes = 1e9});
  for (double x :
       {v.rate, v.rate_low, v.rate_high, v.ruled_out_rate, v.floor_start, v.floor_end, v.onset, v.confidence,
        v.evidence, v.needs_seconds, v.seconds_to_limit.value_or(0), v.spikes.typical_bytes, v.period})
    RC_ASSERT(std::isfinite(x));
  RC_ASSERT(!v.sentence.empty());
}

}  // namespace
}  // namespace plimsoll::verdict
