// Choosing a way below a memory line: the same command chooses the same way, whatever the machine does meanwhile, and a
// run that is resumed keeps the one it has.
#include "train/budget.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "platform/mapped_file.hpp"
#include "train/step_time.hpp"

namespace plimsoll {
namespace {

constexpr int vocab = 35, threads = 2;
constexpr uint64_t overhead = 16 << 20;

Settings model() {
  Settings s;
  s.layers = 2, s.heads = 4, s.dim = 96, s.ff = 384, s.context = 64, s.batch = 4, s.threads = threads;
  s.memory = "drawn";  // by the caller, in bytes
  return s;
}

bool same(const Way& a, const Way& b) {
  return a.micro_batch == b.micro_batch && a.lanes == b.lanes && a.recompute.how == b.recompute.how &&
         a.recompute.blocks == b.recompute.blocks && a.loss_rows == b.loss_rows;
}

// Some of the lines at which another way could be chosen.
std::vector<uint64_t> lines(const Settings& s, const std::vector<Way>& all) {
  const uint64_t least = smallest(s, vocab, threads).plan_bytes;
  std::vector<uint64_t> found;
  for (size_t i = 0; i < all.size(); i += 5)
    if (all[i].plan_bytes >= least) found.push_back(overhead + all[i].plan_bytes);
  return found;
}

TEST(Budget, TheWayFollowsFromTheCommandAlone) {
  const Settings s = model();
  const std::vector<Way> first = ways(s, vocab, threads), second = ways(s, vocab, threads);
  ASSERT_EQ(first.size(), second.size());
  ASSERT_GT(first.size(), 20u);
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_TRUE(same(first[i], second[i])) << i;
    EXPECT_EQ(first[i].seconds, second[i].seconds) << "seconds to choose by are no measurement";
    EXPECT_GE(first[i].seconds, first[i ? i - 1 : 0].seconds);
  }
}

TEST(Budget, TheChosenWayIsTheFastestBelowTheLine) {
  const Settings s = model();
  const std::vector<Way> all = ways(s, vocab, threads);
  for (uint64_t line : lines(s, all)) {
    const Way way = choose(s, vocab, threads, line, overhead);
    EXPECT_LE(way.plan_bytes + overhead, line);
    for (const Way& other : all)
      EXPECT_TRUE(other.bytes() + overhead > line || way.seconds <= other.seconds * (1 + 1e-12))
          << way.text();
  }
}

// Ways are tried with quarters of the blocks recomputed; the chosen one has none more than the line asks for.
TEST(Budget, NoMoreBlocksAreRecomputedThanMust) {
  Settings s = model();
  s.layers = 12, s.batch = 1, s.context = s.positions = 512;
  const uint64_t least = smallest(s, vocab, threads).bytes(), most = unconstrained(s, vocab, threads).bytes();
  int between = 0;
  for (int part = 1; part < 12; ++part) {
    const uint64_t line = overhead + least + (most - least) * uint64_t(part) / 12;
    const Way way = choose(s, vocab, threads, line, overhead);
    EXPECT_LE(way.bytes() + overhead, line);
    if (way.recompute.how != Recompute::blocks || way.recompute.blocks == 1) continue;
    between += way.recompute.blocks % 3 != 0;
    Settings fewer = with_way(s, way);
    fewer.recompute = recompute_text({Recompute::blocks, way.recompute.blocks - 1});
    EXPECT_NE(choose(fewer, vocab, threads, line, overhead).recompute.blocks, way.recompute.blocks - 1)
        << way.text();
  }
  EXPECT_GT(between, 1);
}

TEST(Budget, AResumedRunKeepsItsWay) {
  const Settings s = model();
  const std::vector<Way> all = ways(s, vocab, threads);
  for (uint64_t line : lines(s, all)) {
    const Way way = choose(s, vocab, threads, line, overhead);
    const Way again = choose(with_way(s, way), vocab, threads, line, overhead);
    EXPECT_TRUE(same(way, again)) << way.text() << " became " << again.text();
  }
}

TEST(Budget, WhatCannotFitNamesTheLeastThatWould) {
  const Settings s = model();
  const Way least = smallest(s, vocab, threads);
  EXPECT_NO_THROW(choose(s, vocab, threads, least.bytes() + overhead, overhead));
  try {
    choose(s, vocab, threads, least.bytes() + overhead - 1, overhead);
    FAIL() << "fits";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find(std::to_string(least.bytes() + overhead)), std::string::npos);
  }
}

// What is resident before the plan is mapped varies by some hundred kilobytes from run to run; the figure may not.
TEST(Budget, TheProcessItselfIsCountedTheSameEveryTime) {
  const ProcessMemory usual{5'600'000, 16'000'000, 1'200'000, 0};
  const uint64_t first = process_overhead(usual);
  EXPECT_GT(first, usual.resident);
  for (const uint64_t resident : {5'200'000, 5'900'000, 6'500'000})
    EXPECT_EQ(process_overhead({resident, usual.code, usual.heap, usual.data}), first);
  // So may a page more of heap. What is known to be there counts, and more than that is believed as well.
  EXPECT_EQ(process_overhead({usual.resident, usual.code, usual.heap + 4096, usual.data}), first);
  EXPECT_EQ(process_overhead({usual.resident, usual.code, usual.heap + (1 << 20), usual.data}),
            first + (1 << 20));
  EXPECT_EQ(process_overhead({usual.resident, usual.code, usual.heap, 1'000'000}), first + 1'000'000);
  EXPECT_GE(process_overhead({20'000'000, usual.code, usual.heap, usual.data}), 24'000'000u);
}

TEST(Budget, DecodingPicturesIsCounted) {
  EXPECT_EQ(process_overhead(model()), process_overhead());
  EXPECT_GE(process_overhead(vision_defaults("tiny")), process_overhead() + 1'000'000);
}

TEST(Budget, FilesThatStayInMemoryAreKnown) {
  const uint64_t before = process_memory().data;
  {
    MappedFile file("/proc/self/exe");
    file.make_resident();
    MappedFile moved = std::move(file);
    EXPECT_EQ(process_memory().data, before + moved.bytes().size());
  }
  EXPECT_EQ(process_memory().data, before);
}

// Nodes too small to be cut take as long on two threads as on one; those of a wide model do not.
TEST(StepTime, OnlyNodesThatAreCutGetFaster) {
  const auto seconds = [](Settings s, int threads) {
    s.threads = threads, s.lanes = 1, s.batch = s.micro_batch = 1;
    return unconstrained(s, vocab, threads).seconds;
  };
  Settings narrow = model(), wide = model();
  narrow.dim = 32, narrow.ff = 64, narrow.context = 16, narrow.positions = 16;
  wide.dim = 512, wide.ff = 2048, wide.context = 128;
  EXPECT_EQ(seconds(narrow, 2), seconds(narrow, 1));
  EXPECT_LT(seconds(wide, 2), 0.6 * seconds(wide, 1));
}

TEST(StepTime, LanesSaveWhatHandingOverCosts) {
  Settings s = model();
  s.batch = 8, s.micro_batch = 1, s.recompute = "nothing";
  s.lanes = 2;
  const double in_lanes = unconstrained(s, vocab, threads).seconds;
  s.lanes = 1;
  EXPECT_GT(unconstrained(s, vocab, threads).seconds, 1.05 * in_lanes);
}

TEST(Budget, TheMachineIsMeasuredForPredictingOnly) { EXPECT_GT(slowness(model()), 0); }

}  // namespace
}  // namespace plimsoll
