#include "diagnose/growers.hpp"

#include <gtest/gtest.h>

namespace plimsoll::diagnose {
namespace {

constexpr uint64_t MB = 1'000'000;

observe::Process process(int pid, uint64_t bytes) {
  observe::Process process;
  process.id = {pid, 1};
  process.state = 'S';
  process.rss = process.owned = bytes;
  return process;
}

// A quiet process of 40 MB and one that fills 20 MB in the last half second before `stood` seconds of pause.
int stopped_after_pause(double seconds, double counted) {
  Growers growers;
  observe::Snapshot snapshot;
  for (snapshot.time = 0; snapshot.time < 5; snapshot.time += 0.1) {
    snapshot.processes = {process(1, 40 * MB)};
    if (snapshot.time > 4.5) snapshot.processes.push_back(process(2, uint64_t((snapshot.time - 4.5) * 40e6)));
    growers.see(snapshot);
  }
  snapshot.time += seconds;
  growers.see(snapshot, counted);
  return growers.grower(snapshot, 4 * MB, {})->id.pid;
}

TEST(Growers, WhoGrewUntilAPauseStillGrowsAtItsEnd) {
  EXPECT_EQ(stopped_after_pause(0.1, 0), 2);
  EXPECT_EQ(stopped_after_pause(3, 2.9), 2);
  EXPECT_EQ(stopped_after_pause(3, 0), 1)
      << "without a pause it has held what it has for more than two seconds";
}

// Whoever was there from the beginning holds its ground; a newcomer takes all it has, even if it was born large.
TEST(Growers, ANewbornProcessHasGrown) {
  Growers growers;
  observe::Snapshot snapshot;
  snapshot.processes = {process(1, 400 * MB)};
  growers.see(snapshot);
  snapshot.time = 1;
  snapshot.processes.push_back(process(2, 60 * MB));
  growers.see(snapshot);
  EXPECT_EQ(growers.growth({1, 1}), 0u);
  EXPECT_EQ(growers.growth({2, 1}), 60 * MB);
  EXPECT_EQ(growers.grower(snapshot, 4 * MB, {})->id.pid, 2);
}

TEST(Growers, SparedOnesAreNotChosen) {
  Growers growers;
  observe::Snapshot snapshot;
  snapshot.processes = {process(1, 10 * MB), process(2, 80 * MB)};
  growers.see(snapshot);
  EXPECT_EQ(growers.grower(snapshot, MB, {})->id.pid, 2) << "the largest, where none grows";
  EXPECT_EQ(growers.grower(snapshot, MB, {{2, 1}})->id.pid, 1);
  EXPECT_EQ(growers.grower(snapshot, MB, {{1, 1}, {2, 1}}), nullptr);
}

}  // namespace
}  // namespace plimsoll::diagnose
