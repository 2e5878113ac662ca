#include "watch/tree_judge.hpp"

#include <gtest/gtest.h>

namespace plimsoll::watch {
namespace {

constexpr uint64_t mb = 1'000'000;

observe::Snapshot tree_of(double time, size_t processes, uint64_t bytes_each) {
  observe::Snapshot now;
  now.time = time;
  for (size_t i = 0; i < processes; ++i) {
    observe::Process process;
    process.id = {int(10 + i), 100};
    process.state = 'S';
    process.owned = process.rss = bytes_each;
    now.processes.push_back(process);
  }
  now.bytes = processes * bytes_each;
  return now;
}

uint64_t lowest(const verdict::Series& series) {
  uint64_t least = UINT64_MAX;
  for (size_t i = 0; i < series.size(); ++i) least = std::min(least, series[i].low);
  return least;
}

// A tree that comes down holds less with every sample: none of that is judged.
TEST(TreeJudge, LeavesOutTheEndOfAProgram) {
  TreeJudge judge;
  for (int t = 0; t < 50; ++t) judge.add(tree_of(t, 4, 100 * mb), 0);
  for (int t = 50; t < 53; ++t) judge.add(tree_of(t, size_t(53 - t), 50 * mb), 0);
  judge.leave_out_the_end();
  EXPECT_EQ(judge.close(-1), 49);
  EXPECT_EQ(lowest(judge.series()), 400 * mb);
}

TEST(TreeJudge, KeepsTheEndOfAWatchThatWasCutShort) {
  TreeJudge judge;
  for (int t = 0; t < 50; ++t) judge.add(tree_of(t, 4, 100 * mb), 0);
  judge.add(tree_of(50, 1, 50 * mb), 0);
  EXPECT_EQ(judge.close(-1), 50);
  EXPECT_EQ(lowest(judge.series()), 50 * mb);
}

TEST(TreeJudge, NothingSeenIsJudgedUpToWhatTheCallerSays) {
  TreeJudge judge;
  EXPECT_EQ(judge.close(7), 7);
  EXPECT_EQ(judge.current(), nullptr);
}

TEST(TreeJudge, SaysOnceWhenALeakIsFirstSeen) {
  TreeJudge judge;
  int said = 0;
  for (int t = 0; t < 2000; ++t) said += judge.add(tree_of(t, 1, 100 * mb + uint64_t(t) * mb), 0);
  EXPECT_EQ(said, 1);
  const double until = judge.close(0);
  EXPECT_EQ(judge.judge({}, until).verdict.kind, verdict::Kind::leak);
}

}  // namespace
}  // namespace plimsoll::watch
