// The four answers from made-up evidence.
#include "diagnose/answer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace plimsoll::diagnose {
namespace {

const Epochs no_epochs;

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

Answer told(verdict::Kind kind, const Epochs& epochs, const std::vector<verdict::Sample>& held) {
  const verdict::Verdict tree = tree_verdict(kind, 1e6);
  return answer({.tree = tree, .epochs = epochs, .lines = {{"train.py:5 load", held}}, .live_rate = 1e6})
      .answer;
}

TEST(HeldLeast, WhatIsUsedForAMomentDoesNotCount) {
  std::vector<MemoryReading> readings;
  for (int i = 0; i < 20; ++i) {
    HeldMemory memory{.live_heap = i % 3 == 0 ? 1u : 100u};
    memory.pss = uint64_t(i);
    readings.emplace_back(i, memory);
  }
  EXPECT_EQ(held_least(readings, 19).pss, 15u);  // of 15 to 19, 15 and 18 are quiet, and the first counts
  EXPECT_EQ(held_least(readings, 11.5).pss, 9u);
  EXPECT_EQ(held_least(readings, -1).pss, 0u);  // the first, where all are later
  EXPECT_EQ(held_least(std::span(readings).first(2), 5).pss, 0u);
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

// A cache that filled in the first epoch must not hide a smaller leak beside it.
TEST(Answer, OneLineThatGoesOnIsALeakWhateverTheOthersDo) {
  const verdict::Verdict tree = tree_verdict(verdict::Kind::undecided, 1e6);
  Epochs epochs;
  epochs.see(1, 0);
  epochs.see(2, 100);
  const auto cache = rising_until(100, 150, 5e6), leak = rising_until(150, 150, 1e6);
  const Answered both = answer(
      {.tree = tree, .epochs = epochs, .lines = {{"a.py:1", cache}, {"b.py:2", leak}}, .live_rate = 6e6});
  EXPECT_EQ(both.answer, Answer::leak);
  EXPECT_EQ(both.line, 1u);
  EXPECT_NE(both.reason.find("b.py:2"), std::string::npos) << both.reason;
}

// Where the tree is not decided, whole epochs are needed to say that nothing leaks.
TEST(Answer, WhatHasStoppedIsKnownWhenTheSecondEpochIsOver) {
  verdict::Verdict tree = tree_verdict(verdict::Kind::undecided, 0);
  Epochs epochs;
  epochs.see(1, 0);
  epochs.see(2, 100);
  const auto part = rising_until(100, 150), whole = rising_until(100, 210);
  const auto told = [&](const std::vector<verdict::Sample>& held, double other_rate = 0) {
    return answer(
        {.tree = tree,
         .epochs = epochs,
         .lines = {{"a.py:1", held}, {.name = "b.py:2", .held = {}, .rate = other_rate, .grown = 9e6}}});
  };
  EXPECT_EQ(told(part).answer, Answer::undecided);
  EXPECT_EQ(told(whole).answer, Answer::no_leak);
  EXPECT_EQ(told(whole).reason, "a.py:1 filled up during the first epoch and stopped");
  EXPECT_EQ(told(whole, 1e5).answer, Answer::undecided) << "something else began to grow";
  tree.growing = true;
  EXPECT_EQ(told(whole).answer, Answer::undecided);
}

// A short run has few looks in its second epoch: none in its first fifth is not a line that has stopped.
TEST(Answer, FewLooksInTheSecondEpochAreNoStop) {
  Epochs epochs;
  epochs.see(1, 3.6);
  epochs.see(2, 7.1);
  EXPECT_EQ(told(verdict::Kind::undecided, epochs, rising_until(11, 11, 3.5e6)), Answer::leak);
  EXPECT_EQ(told(verdict::Kind::undecided, epochs, rising_until(8, 8, 3.5e6)), Answer::filling);
}

TEST(Answer, WhatIsClearedAfterEachEpochIsSaidToBe) {
  const verdict::Verdict tree = tree_verdict(verdict::Kind::undecided, 0);
  Epochs epochs;
  std::vector<verdict::Sample> held;
  for (int time = 0; time <= 450; ++time) {
    epochs.see(time / 100, time - 0.5);
    held.push_back({double(time), 1e6 * (time % 100)});
  }
  const Answered cleared = answer({.tree = tree, .epochs = epochs, .lines = {{"a.py:1", held}}});
  EXPECT_EQ(cleared.answer, Answer::no_leak);
  EXPECT_EQ(cleared.reason, "a.py:1 is filled during each epoch and let go of after it");
}

// Buffers that come and go are at any height when an epoch ends.
TEST(Answer, WhatComesAndGoesIsNotTakenForGrowthAfterAnEpoch) {
  const verdict::Verdict tree = tree_verdict(verdict::Kind::no_leak, 0);
  Epochs epochs;
  epochs.see(1, 0);
  epochs.see(2, 100);
  std::vector<verdict::Sample> held;
  for (double time = 0; time <= 150; ++time)
    held.push_back({time, int(time * 7) % 5 == 0 ? 10e6 : 10e6 + time * 1e6});
  EXPECT_EQ(answer({.tree = tree, .epochs = epochs, .lines = {{"a.py:1", held}}}).answer, Answer::no_leak);
}

TEST(Answer, WhatIsReplacedByChanceIsNoLeakInTheSecondEpoch) {
  const verdict::Verdict tree = tree_verdict(verdict::Kind::undecided, 1e6);
  Epochs epochs;
  epochs.see(1, 0);
  epochs.see(2, 100);
  const auto held = rising_until(150, 150);
  HeldLine line{"a.py:1", held};
  EXPECT_EQ(answer({.tree = tree, .epochs = epochs, .lines = {line}}).answer, Answer::leak);
  line.replaced = true;
  EXPECT_EQ(answer({.tree = tree, .epochs = epochs, .lines = {line}}).answer, Answer::undecided);
}

TEST(Answer, ALineThatLeaksDecidesWhereTheTreeDoesNot) {
  for (const verdict::Kind kind : {verdict::Kind::undecided, verdict::Kind::no_leak}) {
    verdict::Verdict tree = tree_verdict(kind, 0);
    tree.floor_end = 500e6;
    HeldLine line{"a.py:1", {}, verdict::Kind::leak, 1e6, 40e6};
    EXPECT_EQ(answer({.tree = tree, .epochs = no_epochs, .lines = {line}}).answer, Answer::leak);
    line.grown = 5e6;  // one percent of the tree: not worth a word
    EXPECT_EQ(answer({.tree = tree, .epochs = no_epochs, .lines = {line}}).answer,
              kind == verdict::Kind::no_leak ? Answer::no_leak : Answer::undecided);
    line.grown = 40e6, line.kind = verdict::Kind::undecided;
    EXPECT_NE(answer({.tree = tree, .epochs = no_epochs, .lines = {line}}).answer, Answer::leak);
  }
}

// While the program runs what is alive of the second epoch tells, before the rates of both can be compared.
TEST(Answer, ALineThatKeepsOnIsCalledEarlyInTheSecondEpoch) {
  verdict::Verdict tree = tree_verdict(verdict::Kind::undecided, 0);
  tree.floor_end = 300e6;
  Epochs epochs;
  epochs.see(1, 0);
  epochs.see(2, 100);
  const auto held = rising_until(100, 110);
  std::vector<Birth> leaks, fills;
  for (double time = 1; time < 110; time += 2) leaks.push_back({time, 1e6});
  for (double time = 1; time < 100; ++time) fills.push_back({time, 1e6});
  HeldLine cache{.name = "a.py:1", .held = held, .born = fills},
      leak{.name = "b.py:2", .held = held, .born = leaks};
  const auto told = [&](std::vector<HeldLine> lines) {
    return answer(
        {.tree = tree, .epochs = epochs, .lines = std::move(lines), .patience = 1e9, .settled = 109});
  };
  EXPECT_EQ(told({cache}).answer, Answer::filling);
  EXPECT_EQ(told({cache, leak}).answer, Answer::leak);
  EXPECT_EQ(told({cache, leak}).line, 1u);
  leak.kernel_cache = true;
  EXPECT_NE(told({cache, leak}).answer, Answer::leak);
  leak.kernel_cache = false, tree.floor_end = 10e9;  // not worth a word
  EXPECT_NE(told({cache, leak}).answer, Answer::leak);
}

// The bytes of blocks that come and go at random may rise in both epochs; nothing old is among them.
TEST(Answer, BytesThatRiseByChanceAreNoLeakWhereWhatIsAliveIsYoung) {
  verdict::Verdict tree = tree_verdict(verdict::Kind::undecided, 0);
  tree.floor_end = 300e6;
  Epochs epochs;
  epochs.see(1, 0);
  epochs.see(2, 100);
  const auto held = rising_until(150, 150);
  HeldLine line{.name = "a.py:1", .held = held};
  const auto told = [&] {
    return answer({.tree = tree, .epochs = epochs, .lines = {line}, .patience = 1e9, .settled = 149}).answer;
  };
  EXPECT_EQ(told(), Answer::leak);
  std::vector<Birth> young;
  for (double time = 120; time < 150; ++time) young.push_back({time, 1e6});
  line.born = young;
  EXPECT_NE(told(), Answer::leak);
}

// One plan for each new shape of input: the series of such a line is a clean staircase.
TEST(Answer, ALineThatGainsEverMoreRarelyIsNoLeak) {
  const verdict::Verdict tree = tree_verdict(verdict::Kind::undecided, 0);
  const auto held = [](double power) {
    std::vector<verdict::Sample> samples;
    for (double time = 0; time <= 400; ++time)
      samples.push_back({time, 1e6 * std::floor(40 * std::pow(time / 400, power))});
    return samples;
  };
  const auto even = held(1), rarer = held(0.4);
  HeldLine line{.name = "a.py:1", .held = even, .kind = verdict::Kind::leak, .rate = 1e5, .grown = 40e6};
  EXPECT_EQ(answer({.tree = tree, .epochs = no_epochs, .lines = {line}}).answer, Answer::leak);
  line.held = rarer;
  EXPECT_NE(answer({.tree = tree, .epochs = no_epochs, .lines = {line}}).answer, Answer::leak);
}

// The tree leaks: a line that is too short to be judged by itself is named for a good part of the growth.
TEST(Answer, TheLineThatGainedWhatTheTreeGainedIsNamed) {
  verdict::Verdict tree = tree_verdict(verdict::Kind::leak, 1e6);
  tree.floor_start = 20e6, tree.floor_end = 40e6;
  const auto leak = rising_until(19, 19), small = rising_until(19, 19, 1e5),
             loaded = rising_until(5, 19, 8e6);
  const auto told = [&](std::vector<HeldLine> lines) {
    return answer({.tree = tree, .epochs = no_epochs, .lines = std::move(lines)});
  };
  const HeldLine slow{.name = "a.py:1", .held = small, .rate = 1e5};
  EXPECT_EQ(told({slow, {"model.py:3", loaded}, {"b.py:2", leak}}).line, 2u);
  EXPECT_EQ(told({slow, {"model.py:3", loaded}, {"b.py:2", leak}}).reason, "b.py:2 holds more and more");
  EXPECT_EQ(told({slow, {"model.py:3", loaded}}).line, 0u) << "what was loaded and stands still is not named";
  EXPECT_EQ(told({{"a.py:1", small}, {"model.py:3", loaded}}).line, std::nullopt);
  EXPECT_EQ(told({{.name = "b.py:2", .held = leak, .replaced = true}}).line, std::nullopt);
  tree.kind = verdict::Kind::undecided;
  EXPECT_NE(told({{"b.py:2", leak}}).answer, Answer::leak) << "only where the tree itself leaks";
}

// A cache that meets fewer and fewer new keys gains at every look, but less and less.
TEST(Answer, ALeakingTreeWhoseLineGainsLessAndLessIsFilling) {
  verdict::Verdict tree = tree_verdict(verdict::Kind::leak, 1e6);
  tree.floor_start = 160e6, tree.floor_end = 230e6;
  const auto told = [&](auto&& held_at, std::span<const verdict::StepMark> steps = {}) {
    std::vector<verdict::Sample> held;
    for (int time = 0; time <= 40; ++time)
      held.push_back({double(time), held_at(time) + 1e5 * (time * 7 % 5)});
    tree.by_steps = !steps.empty();
    return answer({.tree = tree,
                   .epochs = no_epochs,
                   .lines = {{.name = "a.py:1", .held = held, .rate = 1e6}},
                   .steps = steps});
  };
  const auto cache = [](int time) { return 80e6 * (1 - std::exp(-time / 20.)); };
  EXPECT_EQ(told(cache).answer, Answer::filling);
  EXPECT_NE(told(cache).reason.find("a.py:1 gains less and less"), std::string::npos);
  EXPECT_EQ(told([](int time) { return 2e6 * time; }).answer, Answer::leak);
  EXPECT_EQ(told([](int time) { return 20e6 * (time / 10); }).answer, Answer::leak) << "in bursts";
  EXPECT_EQ(told([](int time) { return 2e6 * time + 10e6 * std::min(time, 6); }).answer, Answer::leak)
      << "filled at first, and then it leaks";
  // As much at each step of a program that becomes slower is a leak.
  std::vector<verdict::StepMark> steps;
  for (int time = 0; time <= 40; ++time) steps.push_back({double(time), 1000 * (1 - std::exp(-time / 20.))});
  EXPECT_EQ(told(cache, steps).answer, Answer::leak);
}

TEST(Answer, WhatWasGainedSoFarIsSaidWhereItIsTooEarlyToTell) {
  const verdict::Verdict tree = tree_verdict(verdict::Kind::undecided, 0);
  const auto held = rising_until(12, 12, 2.5e6);
  const auto told = [&](double grown) {
    return answer(
        {.tree = tree, .epochs = no_epochs, .lines = {{.name = "a.py:1", .held = held, .grown = grown}}});
  };
  EXPECT_EQ(told(30e6).answer, Answer::undecided);
  EXPECT_EQ(told(30e6).line, 0u);
  EXPECT_EQ(told(30e6).reason, "too little was seen to tell; so far a.py:1 has gained 30.0 MB");
  EXPECT_EQ(told(1e6).reason, "too little was seen to tell") << "two samples may be chance";
}

TEST(Answer, ProcessesThatStayAreALeakOfTheLineThatStartsThem) {
  verdict::Verdict tree = tree_verdict(verdict::Kind::leak, 1e6);
  tree.floor_end = 300e6;
  HeldLine line{.name = "a.py:1", .held = {}, .grown = 40e6, .processes_kept = 5};
  const Answered kept =
      answer({.tree = tree, .epochs = no_epochs, .lines = {{.name = "b.py:2", .held = {}}, line}});
  EXPECT_EQ(kept.answer, Answer::leak);
  EXPECT_EQ(kept.line, 1u);
  EXPECT_NE(kept.reason.find("processes that stay, 5 so far"), std::string::npos) << kept.reason;
  tree.kind = verdict::Kind::no_leak;
  EXPECT_EQ(answer({.tree = tree, .epochs = no_epochs, .lines = {line}}).answer, Answer::no_leak);
  // While it runs: not before the first epoch is over.
  tree.kind = verdict::Kind::undecided;
  EXPECT_NE(
      answer({.tree = tree, .epochs = no_epochs, .lines = {line}, .patience = 1e9, .settled = 50}).answer,
      Answer::leak);
}

TEST(Answer, GrowthOfWhatWasFreedIsRetained) {
  const verdict::Verdict tree = tree_verdict(verdict::Kind::leak, 1e6);
  HeldMemory before, now;
  before.pss = 100e6, before.live_heap = 80e6, before.retained = 20e6;
  now.pss = 200e6, now.live_heap = 82e6, now.retained = 118e6;
  const Answered answered =
      answer({.tree = tree, .epochs = no_epochs, .live_rate = 2e4, .before = before, .now = now});
  EXPECT_EQ(answered.answer, Answer::retained);
  EXPECT_NE(answered.reason.find("118 MB"), std::string::npos) << answered.reason;
  // The live heap growing as fast is a leak, whatever else is kept.
  EXPECT_EQ(
      answer({.tree = tree, .epochs = no_epochs, .live_rate = 9e5, .before = before, .now = now}).answer,
      Answer::leak);
}

// Of a process without a heap file nobody knows what it freed: the verdict on the tree stands, whatever the lines of
// others do.
TEST(Answer, GrowthWhereNoLineWasSeenIsALeak) {
  const verdict::Verdict tree = tree_verdict(verdict::Kind::leak, 1e6);
  const HeldMemory before{
      .retained = 20'000'000, .other = 80'000'000, .pss = 100'000'000, .unprofiled = 70'000'000},
      now{.retained = 60'000'000, .other = 180'000'000, .pss = 240'000'000, .unprofiled = 170'000'000};
  EXPECT_EQ(answer({.tree = tree, .epochs = no_epochs, .before = before, .now = now}).answer, Answer::leak);
  Epochs epochs;
  epochs.see(0, 0);
  epochs.see(1, 100);
  const auto filled = rising_until(100, 200);
  const Answered answered = answer(
      {.tree = tree, .epochs = epochs, .lines = {{"train.py:5 load", filled}}, .before = before, .now = now});
  EXPECT_EQ(answered.answer, Answer::leak);
  EXPECT_NE(answered.reason.find("without a heap file"), std::string::npos) << answered.reason;
}

// The heap of V8 or Go is no part of malloc's: that a program freed it is not known.
TEST(Answer, GrowthOutsideOfMallocIsNotRetained) {
  const verdict::Verdict tree = tree_verdict(verdict::Kind::leak, 1e6);
  const HeldMemory before{
      .retained = 20'000'000, .other = 30'000'000, .pss = 50'000'000, .unseen = 20'000'000},
      now{.retained = 25'000'000, .other = 125'000'000, .pss = 150'000'000, .unseen = 115'000'000};
  const Answered answered =
      answer({.tree = tree, .epochs = no_epochs, .live_rate = 2e4, .before = before, .now = now});
  EXPECT_EQ(answered.answer, Answer::leak);
  EXPECT_FALSE(answered.line);
  EXPECT_NE(answered.reason.find("did not ask malloc for"), std::string::npos) << answered.reason;
  // A line that grows as fast as the tree is named, wherever its memory is.
  const auto rising = rising_until(200, 200);
  EXPECT_TRUE(answer({.tree = tree,
                      .epochs = no_epochs,
                      .lines = {{"train.py:5 load", rising, verdict::Kind::leak, 9e5}},
                      .live_rate = 9e5,
                      .before = before,
                      .now = now})
                  .line);
}

// A line that loses small blocks between large ones that come and go: most of the growth is space it keeps from being used.
TEST(Answer, ALineThatGoesOnIsALeakThoughTheAllocatorKeepsMostOfTheGrowth) {
  verdict::Verdict tree = tree_verdict(verdict::Kind::leak, 40e6);
  tree.floor_end = 4.4e9;
  Epochs epochs;
  epochs.see(1, 0);
  epochs.see(2, 100);
  const HeldMemory before{.live_heap = 300'000'000, .retained = 10'000'000, .pss = 310'000'000},
      now{.live_heap = 360'000'000, .retained = 4'000'000'000, .pss = 4'360'000'000};
  const auto told = [&](const std::vector<verdict::Sample>& held) {
    return answer({.tree = tree,
                   .epochs = epochs,
                   .lines = {{"a.py:1", held}},
                   .live_rate = 4e5,
                   .before = before,
                   .now = now});
  };
  EXPECT_EQ(told(rising_until(150, 150, 4e5)).answer, Answer::leak);
  EXPECT_NE(told(rising_until(150, 150, 4e5)).reason.find("kept by the allocator"), std::string::npos);
  EXPECT_EQ(told(rising_until(100, 150, 4e5)).answer, Answer::retained);
  EXPECT_EQ(told(rising_until(150, 150, 2e4)).answer, Answer::retained) << "three samples may be chance";

  // Without epochs the verdict on the line itself tells.
  const auto held = rising_until(150, 150, 4e5);
  const auto by_itself = [&](verdict::Kind kind) {
    return answer({.tree = tree,
                   .epochs = no_epochs,
                   .lines = {{.name = "a.py:1", .held = held, .kind = kind, .rate = 4e5, .grown = 6e7}},
                   .live_rate = 4e5,
                   .before = before,
                   .now = now})
        .answer;
  };
  EXPECT_EQ(by_itself(verdict::Kind::leak), Answer::leak);
  EXPECT_EQ(by_itself(verdict::Kind::undecided), Answer::retained);

  // So does what was called while the program ran, as long as it grows.
  const auto called_before = [&](double rate) {
    return answer({.tree = tree,
                   .epochs = no_epochs,
                   .lines = {{.name = "a.py:1", .held = held, .rate = rate}},
                   .live_rate = 4e5,
                   .before = before,
                   .now = now,
                   .called = "a.py:1"})
        .answer;
  };
  EXPECT_EQ(called_before(4e5), Answer::leak);
  EXPECT_EQ(called_before(0), Answer::retained);
}

TEST(Answer, WhatIsMappedToBeSharedIsTouched) {
  heap::MemoryClasses classes;
  classes.anonymous = 100, classes.shared = 80;
  EXPECT_EQ(untouched(classes, 90), 0u);
  EXPECT_EQ(untouched(classes, 180), 0u);
  EXPECT_EQ(untouched(classes, 250), 70u);
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
