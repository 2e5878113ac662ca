// The policy as a table of scenarios: readings and the levels that follow.
#include "guard/policy.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "guard/guard.hpp"
#include "guard/policy_settings.hpp"
#include "platform/allocations.hpp"

namespace plimsoll::guard {
namespace {

constexpr uint64_t GB = 1'000'000'000;
constexpr uint64_t limit = 10 * GB;  // so that 1 % is 100 MB

struct Moment {
  double percent = 0;   // of the limit in use
  double pressure = 0;  // full avg10
  double own = -1;      // percent of the limit held by what is guarded; negative: not known
  double leak_per_step = 0;
};
using Course = std::function<Moment(double seconds)>;

Course steady(double percent) {
  return [=](double) { return Moment{percent}; };
}
Course then(double at, Course first, Course second) {
  return [=](double t) { return t < at ? first(t) : second(t); };
}
Course ramp(double from, double per_second) {
  return [=](double t) { return Moment{std::min(100.0, from + per_second * t)}; };
}

struct Options {
  bool listens = false;
  Policy policy = {};
  double step = 0.5;  // seconds between readings
  std::function<double(double)> clock = [](double t) { return t; };
};

struct Outcome {
  std::string levels;  // "ok warn pause ok": each change once
  std::vector<double> changes;
  std::vector<Decision> acts;
  double longest_pause = 0;
};

Outcome run(const Course& course, double seconds, const Options& options = {}) {
  Guard guard(options.policy);
  guard.can_shrink(options.listens);
  Outcome run;
  run.levels = "ok";
  double paused = 0;
  for (double t = 0; t <= seconds; t += options.step) {
    Moment now = course(t);
    Reading reading{.time = options.clock(t),
                    .limit = limit,
                    .used = uint64_t(now.percent / 100 * double(limit)),
                    .pressure = now.pressure};
    if (now.own >= 0) reading.own = uint64_t(now.own / 100 * double(limit));
    if (now.leak_per_step > 0) reading.leak_per_step = now.leak_per_step;
    Decision decision = guard.observe(reading);
    if (decision.changed)
      run.levels += std::string(" ") + level_name(decision.level), run.changes.push_back(t);
    if (decision.act) run.acts.push_back(decision);
    paused = decision.level == Level::pause ? paused + options.step : 0;
    run.longest_pause = std::max(run.longest_pause, paused);
  }
  return run;
}

Policy with(std::initializer_list<std::pair<const char*, const char*>> keys) {
  PolicySources sources;
  sources.environment = nullptr;
  for (auto [key, text] : keys) sources.command_line[key] = text;
  return resolve_policy(sources);
}

Options listening() { return {.listens = true}; }
Options jumping(double at, double by) {
  return {.clock = [=](double t) { return t < at ? t : t + by; }};
}

struct Scenario {
  const char* name;
  Course course;
  double seconds;
  const char* levels;
  Options options = {};
};

const double day = 86400;

std::vector<Scenario> scenarios() {
  auto saw = [](double centre, double swing, double period) {
    return [=](double t) {
      return Moment{centre + swing * (4 * std::abs(t / period - std::floor(t / period + 0.5)) - 1)};
    };
  };
  auto pressed = [](double percent, double pressure) {
    return [=](double) { return Moment{percent, pressure}; };
  };
  auto alone = [](double percent, double own) { return [=](double) { return Moment{percent, 0, own}; }; };
  return {
      {"half full, for an hour", steady(50), 3600, "ok"},
      {"just below the warn line", steady(69.9), 600, "ok"},
      {"a warning, and it stays as long as use does", steady(72), 600, "ok warn"},
      {"a warning that ends after a minute of calm", then(30, steady(72), steady(40)), 200, "ok warn ok"},
      {"within the margin below the line it is not left", then(30, steady(72), steady(66)), 600, "ok warn"},
      {"a spike of ten seconds", then(10, steady(50), then(20, steady(75), steady(50))), 200, "ok warn ok"},
      {"above the shrink line nobody listens: a warning", steady(85), 300, "ok warn"},
      {"above the shrink line a listener is asked", steady(85), 300, "ok shrink", listening()},
      {"the listener has shrunk: calm again", then(10, steady(85), steady(60)), 200, "ok shrink ok",
       listening()},
      {"at the pause line a listener is asked first, then paused, then stopped", steady(92), 300,
       "ok shrink pause stop", listening()},
      {"asked to shrink at the pause line, and it helps", then(4, steady(92), steady(60)), 300,
       "ok shrink ok", listening()},
      {"pause, relief after a minute, on it goes", then(60, steady(92), steady(50)), 300, "ok pause ok"},
      {"pause without relief ends in a stop at its bound", steady(92), 300, "ok pause stop"},
      {"pause of what holds it all itself: no use waiting", alone(92, 90), 300, "ok pause stop"},
      {"above the stop line at once", steady(96), 60, "ok stop"},
      {"a stop, and the memory comes free", then(5, steady(96), steady(30)), 60, "ok stop ok"},
      {"a stop that leaves it between the lines does not pause again", then(5, steady(96), steady(87)), 60,
       "ok stop warn"},
      {"8 GB of page cache is no use: what remains is a tenth", steady(10), 600, "ok"},
      {"saw-tooth of 1 % around the warn line, ten minutes", saw(70, 1, 7), 600, "ok warn"},
      {"saw-tooth of 1 % around the pause line goes to its bound", saw(90, 1, 7), 130, "ok warn pause stop"},
      {"saw-tooth of 1 % around the shrink line, a listener", saw(80, 1, 7), 600, "ok warn shrink",
       listening()},
      {"growth that leaves minutes is watched, not acted on", ramp(20, 0.2), 60, "ok"},
      {"growth by 1 % a second: warned at 35 %", ramp(20, 1), 45, "ok warn"},
      {"growth predicted while above the warn line: a listener shrinks before its line", ramp(45, 0.9), 32,
       "ok warn shrink", listening()},
      {"one jump of 30 % is no trend", then(30, steady(20), steady(50)), 300, "ok"},
      {"the clock jumps a day ahead while all is well", steady(50), 600, "ok", jumping(100, day)},
      {"the clock jumps a day ahead during a pause: the pause still has its time", steady(92), 50, "ok pause",
       jumping(20, day)},
      {"the clock jumps a day back during a warning", then(30, steady(72), steady(40)), 200, "ok warn ok",
       jumping(10, -day)},
      {"pressure with little in use is a warning", pressed(30, 60), 600, "ok warn"},
      {"pressure above the warn line pauses, and without end is not believed after the bound",
       pressed(75, 60), 600, "ok pause warn"},
      {"a leak of 2 MB a step is worth a word",
       [](double) {
         return Moment{20, 0, -1, 2e6};
       },
       60, "ok warn"},
      {"a leak of half a megabyte is not",
       [](double) {
         return Moment{20, 0, -1, 0.5e6};
       },
       60, "ok"},
      {"lines given as sizes", steady(52), 60, "ok warn", {.policy = with({{"warn_threshold", "5GB"}})}},
      {"a lower threshold draws all lines with it",
       steady(76),
       60,
       "ok pause",
       {.policy = with({{"memory_threshold_percentage", "50"}})}},
  };
}

TEST(Policy, Scenarios) {
  ASSERT_GE(scenarios().size(), 30u);
  for (const Scenario& scenario : scenarios()) {
    Outcome result = run(scenario.course, scenario.seconds, scenario.options);
    EXPECT_EQ(result.levels, scenario.levels) << scenario.name;
    EXPECT_LE(result.longest_pause, scenario.options.policy.pause_bound + 1) << scenario.name;
  }
}

TEST(Policy, ASawToothChangesTheLevelAtMostOnceAMinute) {
  for (double centre : {70.0, 80.0})
    for (double period : {2.0, 7.0, 30.0, 61.0}) {
      Course saw = [=](double t) { return Moment{centre + std::sin(2 * M_PI * t / period)}; };
      Outcome result = run(saw, 600, {.listens = true, .step = 0.25});
      for (size_t i = 1; i < result.changes.size(); ++i)
        EXPECT_TRUE(result.changes[i] - result.changes[i - 1] >= 60 || centre == 80)
            << centre << " " << period;
      EXPECT_LE(result.changes.size(), 2u);
    }
}

TEST(Policy, PressureWithoutEndPausesOnceInItsBound) {
  Outcome result = run([](double) { return Moment{85, 90}; }, 3600);
  EXPECT_LE(result.longest_pause, 121);
  EXPECT_EQ(result.levels.find("stop"), std::string::npos) << result.levels;
}

TEST(Policy, SaysWhenTheLineIsCrossedAndAfterHowManySteps) {
  Guard guard{Policy{}};
  Decision decision;
  for (double t = 0; t < 45; t += 0.5)
    decision = guard.observe({.time = t,
                              .limit = limit,
                              .used = uint64_t((20 + t) / 100 * double(limit)),
                              .steps_per_second = 30});
  ASSERT_TRUE(decision.seconds_to_line);
  EXPECT_NEAR(*decision.seconds_to_line, 95 - 64.5, 3);
  EXPECT_NEAR(*decision.steps_to_line, 30 * *decision.seconds_to_line, 1);
  EXPECT_NE(decision.reason().find("steps"), std::string_view::npos) << decision.reason();
}

// Growing back takes hundreds of MB in milliseconds; at that speed the stop line would be reached at once.
TEST(Policy, WhatIsDoneOnPurposeIsNoTrend) {
  for (bool said : {false, true}) {
    Guard guard({});
    guard.observe({.time = 0, .limit = limit, .used = 3 * GB});
    guard.observe({.time = 1, .limit = limit, .used = 3 * GB});
    if (said) guard.changed_on_purpose();
    const Decision after = guard.observe({.time = 1.005, .limit = limit, .used = 6 * GB});
    EXPECT_EQ(after.level == Level::ok, said) << level_name(after.level);
  }
}

TEST(Policy, NothingKnownIsNoReasonToAct) {
  Guard guard{Policy{}};
  EXPECT_EQ(guard.observe({.time = 1}).level, Level::ok);
  EXPECT_EQ(guard.observe({.time = std::nan(""), .limit = limit, .used = GB}).level, Level::ok);
}

// Five gigabytes more within a hundredth of a second are a flood, but not from one limit to another or over a gap.
TEST(Policy, ARateIsNotCarriedFromOneLimitToAnother) {
  const auto after = [](Reading next) {
    Guard guard{Policy{}};
    for (int i = 0; i < 20; ++i) guard.observe({.time = i * 0.01, .limit = limit, .used = GB});
    next.late = 0.05;  // the guard itself had to wait
    return guard.observe(next).level;
  };
  EXPECT_NE(after({.time = 0.2, .limit = limit, .used = 6 * GB}), Level::ok);
  EXPECT_EQ(after({.time = 0.2, .limit = limit, .used = 6 * GB, .source = 1}), Level::ok);
  EXPECT_EQ(after({.time = 0.2, .limit = limit - GB, .used = 6 * GB}), Level::ok);
  EXPECT_EQ(after({.time = 1e6, .limit = limit, .used = 6 * GB}), Level::ok);
}

TEST(Policy, LooksOftenOnlyWhereMemoryCouldBeGoneSoon) {
  auto poll = [](uint64_t total, double percent) {
    Guard guard{Policy{}};
    return guard.observe({.time = 0, .limit = total, .used = uint64_t(percent / 100 * double(total))}).poll;
  };
  EXPECT_EQ(poll(64 * GB, 20), 1);
  EXPECT_LE(poll(300'000'000, 20), 0.02);
  EXPECT_LE(poll(300'000'000, 89), 0.002);
  EXPECT_GE(poll(300'000'000, 89), 0.001);
  for (double percent : {69.9, 79.9, 89.9, 94.9}) EXPECT_LE(poll(64 * GB, percent), 0.05);
  Guard guard{Policy{}};  // a small limit that is empty fills sooner than a large one that is half full
  EXPECT_LE(guard.observe({.time = 0, .limit = 64 * GB, .used = 32 * GB, .room = 300'000'000}).poll, 0.02);
}

TEST(Policy, DecidingAllocatesNothing) {
  Guard guard{Policy{}};
  guard.can_shrink(true);
  const uint64_t before = allocations();
  for (int i = 0; i < 20000; ++i)
    guard.observe({.time = i * 0.1,
                   .limit = limit,
                   .used = uint64_t(i % 1000) * limit / 1000,
                   .pressure = double(i % 70),
                   .leak_per_step = 3e6,
                   .steps_per_second = 12});
  EXPECT_EQ(allocations(), before);
}

RC_GTEST_PROP(Policy, AnyPauseEndsAndNoLevelIsLeftBeforeItsDwell,
              (std::vector<unsigned char> raw, bool listens)) {
  Policy policy;
  Guard guard(policy);
  guard.can_shrink(listens);
  double paused = 0, entered = 0, time = 0;
  for (unsigned char byte : raw)
    for (int i = 0; i < 40; ++i, time += 0.5) {
      Decision decision = guard.observe({.time = time,
                                         .limit = limit,
                                         .used = (byte % 128) * limit / 128,
                                         .pressure = byte >= 128 ? 50.0 : 0});
      paused = decision.level == Level::pause ? paused + 0.5 : 0;
      RC_ASSERT(paused <= policy.pause_bound + 1);
      if (!decision.changed) continue;
      const bool forced = decision.cause == Cause::bound;
      if (decision.level < decision.before && !forced)
        RC_ASSERT(time - entered >= (decision.before >= Level::pause ? policy.pause_dwell : policy.dwell));
      entered = time;
    }
}

RC_GTEST_PROP(Policy, MoreUseNeverMeansLess, (bool listens)) {
  const auto one = *rc::gen::inRange<uint64_t>(0, limit), other = *rc::gen::inRange<uint64_t>(0, limit);
  auto level = [&](uint64_t used) {
    Guard guard{Policy{}};
    guard.can_shrink(listens);
    return guard.observe({.time = 5, .limit = limit, .used = used}).level;
  };
  RC_ASSERT((one <= other) == (one == other) || level(std::min(one, other)) <= level(std::max(one, other)));
}

TEST(PolicySettings, TheStrongestVoiceWinsAndWrongOnesAreNamed) {
  PolicySources sources;
  sources.environment = [](const char* name) -> const char* {
    return std::string_view(name) == "PLIMSOLL_MEMORY_THRESHOLD_PERCENTAGE" ? "60" : nullptr;
  };
  EXPECT_EQ(resolve_policy(sources).memory_threshold_percentage, 60);
  sources.command_line["memory_threshold_percentage"] = "50%";
  EXPECT_EQ(resolve_policy(sources).memory_threshold_percentage, 50);
  EXPECT_EQ(resolve_policy(sources).lines(1000).stop, 875u);

  for (auto [key, text] :
       std::initializer_list<std::pair<const char*, const char*>>{{"memory_threshold_percentage", "120"},
                                                                  {"batch_size_reduction_factor", "1"},
                                                                  {"pause_bound", "soon"},
                                                                  {"max_memory", "0"},
                                                                  {"max_memory", "much"},
                                                                  {"pause_threshold", "97%"},
                                                                  {"no_such_key", "1"},
                                                                  {"memory_leak_threshold_mb", "nan"}})
    EXPECT_THROW(with({{key, text}}), InputError) << key << " " << text;
  for (const PolicyKey& key : policy_keys()) {
    Policy policy;
    if (std::string text = text_of(key, policy); !text.empty()) assign(key, policy, text, "here");
    EXPECT_EQ(text_of(key, policy), text_of(key, Policy{}));
  }
}

}  // namespace
}  // namespace plimsoll::guard
