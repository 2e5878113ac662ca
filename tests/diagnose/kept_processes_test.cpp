#include "diagnose/kept_processes.hpp"

#include <gtest/gtest.h>

namespace plimsoll::diagnose {
namespace {

TEST(KeptProcesses, WorkersMadeAnewAndKeptAreALeak) {
  const auto kept = keeps_processes({{10, 8e6}, {20, 8e6}, {31, 8e6}, {40, 8e6}}, 50);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->count, 4u);
  EXPECT_DOUBLE_EQ(kept->bytes, 32e6);
  EXPECT_DOUBLE_EQ(kept->rate, 32e6 / 40);
}

TEST(KeptProcesses, APoolIsStartedOnce) {
  EXPECT_FALSE(keeps_processes({{10, 8e6}, {10.1, 8e6}, {10.2, 8e6}, {10.3, 8e6}}, 100));
  EXPECT_FALSE(keeps_processes({{10, 8e6}, {10.1, 8e6}, {50, 8e6}, {50.1, 8e6}}, 100));
}

// As many as it has tasks, and no more.
TEST(KeptProcesses, APoolThatWasFilledOneByOneHasStopped) {
  EXPECT_FALSE(keeps_processes({{10, 8e6}, {15, 8e6}, {20, 8e6}, {25, 8e6}}, 100));
}

TEST(KeptProcesses, TwoAreNoTrend) { EXPECT_FALSE(keeps_processes({{10, 8e6}, {20, 8e6}}, 25)); }

}  // namespace
}  // namespace plimsoll::diagnose
