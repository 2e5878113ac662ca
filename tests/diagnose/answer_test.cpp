// The four answers from made-up evidence.
#include "diagnose/answer.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace plimsoll::diagnose {
namespace {

verdict::Verdict tree_verdict(verdict::Kind kind, double rate) {
  verdict::Verdict verdict;
  verdict.kind = kind;
  verdict.rate = rate;
  return verdict;
}

// Bytes that rise by `rate` until `end` and stand still afterwards, every second up to `last`.
std::vector<verdict::Sample> rising_until(double end, double last, double rate = 1e6) {
  std::vector<verdict::Sample> samples;
  for (double time = 0; time <= last; ++time) samples.push_back({time, rate * std::min(time, end)});
  return samples;
}

Answer told(verdict::Kind kind, const Epochs& epochs, const std::vector<verdict::Sample>& held,
            double live_rate = 1e6) {
  const verdict::Verdict tree = tree_verdict(kind, 1e6);
  return answer({tree, epochs, "train.py:5 load", held, live_rate, {}, {}}).answer;
}

TEST(Answer, WithoutEpochsFollowsTheVerdict) {
  const auto held = rising_until(100, 100);
  EXPECT_EQ(told(verdict::Kind::leak, {}, held), Answer::leak);
  EXPECT_EQ(told(verdict::Kind::no_leak, {}, held), Answer::no_leak);
  EXPECT_EQ(told(verdict::Kind::undecided, {}, held), Answer::undecided);
}

TEST(Answer, GrowthInTheFirstEpochMayBeFilling) {
  Epochs epochs;
  epochs.see(1, 0);
  EXPECT_EQ(told(verdict::Kind::leak, epochs, rising_until(100, 100)), Answer::filling);
  EXPECT_EQ(told(verdict::Kind::undecided, epochs, rising_until(100, 100)), Answer::filling);
  epochs.see(2, 95);  // just begun: still not known
  EXPECT_EQ(told(verdict::Kind::leak, epochs, rising_until(100, 100)), Answer::filling);
}

TEST(Answer, WhatStopsWithTheFirstEpochIsNoLeak) {
  Epochs epochs;
  epochs.see(0, 0);
  epochs.see(0, 10);
  epochs.see(1, 100);
  EXPECT_EQ(told(verdict::Kind::leak, epochs, rising_until(100, 200)), Answer::no_leak);
  EXPECT_EQ(told(verdict::Kind::leak, epochs, rising_until(200, 200)), Answer::leak);
}

TEST(Answer, GrowthOfWhatWasFreedIsRetained) {
  const verdict::Verdict tree = tree_verdict(verdict::Kind::leak, 1e6);
  HeldMemory before, now;
  before.pss = 100e6, before.live_heap = 80e6, before.retained = 20e6;
  now.pss = 200e6, now.live_heap = 82e6, now.retained = 118e6;
  const Answered answered = answer({tree, {}, "a.py:1", {}, 2e4, before, now});
  EXPECT_EQ(answered.answer, Answer::retained);
  EXPECT_NE(answered.reason.find("118 MB"), std::string::npos) << answered.reason;
  // The live heap growing as fast is a leak, whatever else is kept.
  EXPECT_EQ(answer({tree, {}, "a.py:1", {}, 9e5, before, now}).answer, Answer::leak);
}

TEST(Answer, TheTableAddsUp) {
  heap::MemoryClasses classes;
  classes.anonymous = 100, classes.file = 20, classes.shared = 3, classes.stack = 4, classes.other = 5;
  const HeldMemory memory = held_memory(classes, 70);
  EXPECT_EQ(memory.live_heap, 70u);
  EXPECT_EQ(memory.retained, 30u);
  EXPECT_EQ(
      memory.live_heap + memory.retained + memory.mapped_file + memory.shared + memory.stack + memory.other,
      memory.pss);
  EXPECT_EQ(held_memory(classes, 1000).live_heap, 100u);
}

}  // namespace
}  // namespace plimsoll::diagnose
