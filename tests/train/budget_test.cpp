// Choosing a way below a memory line: the same command chooses the same way, whatever the machine does meanwhile, and a
// run that is resumed keeps the one it has.
#include "train/budget.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

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
      EXPECT_TRUE(other.plan_bytes + overhead > line || way.seconds <= other.seconds * (1 + 1e-12))
          << way.text();
  }
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
  EXPECT_NO_THROW(choose(s, vocab, threads, least.plan_bytes + overhead, overhead));
  try {
    choose(s, vocab, threads, least.plan_bytes + overhead - 1, overhead);
    FAIL() << "fits";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find(std::to_string(least.plan_bytes + overhead)), std::string::npos);
  }
}

TEST(Budget, TheMachineIsMeasuredForPredictingOnly) { EXPECT_GT(slowness(model()), 0); }

}  // namespace
}  // namespace plimsoll
