#include "graph/pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <vector>

namespace plimsoll {
namespace {

TEST(Pool, EveryPartRunsExactlyOnceManyTimes) {
  Pool pool(4);
  struct Job {
    std::vector<std::atomic<int>> count = std::vector<std::atomic<int>>(64);
  } job;
  for (int round = 1; round <= 3000; ++round) {
    const int parts = 1 + round % 64;
    for (auto& c : job.count) c = 0;
    pool.run([](const void* context, int part,
                int) { const_cast<Job*>(static_cast<const Job*>(context))->count[size_t(part)]++; },
             &job, parts);
    for (int i = 0; i < 64; ++i) ASSERT_EQ(job.count[size_t(i)], i < parts ? 1 : 0) << round;
  }
}

// A worker that was put aside while claiming must not take a part of the next, larger job with its old ticket: the part
// would run twice and the job never end. The moment for it is a few instructions long, so this can only try often.
TEST(Pool, ALateWorkerTakesNoPartOfTheNextJob) {
  Pool pool(6);
  struct Job {
    std::atomic<uint64_t> runs{0};
  } job;
  uint64_t expected = 0;
  for (int round = 0; round < 100'000; ++round) {
    const int parts = 2 + round % 7;
    pool.run([](const void* context, int,
                int) { const_cast<Job*>(static_cast<const Job*>(context))->runs.fetch_add(1); },
             &job, parts);
    ASSERT_EQ(job.runs, expected += uint64_t(parts)) << round;
  }
}

TEST(Pool, WorksAfterEveryoneWentToSleep) {
  Pool pool(3);
  std::atomic<int> sum{0};
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    pool.run(
        [](const void* context, int part, int) {
          const_cast<std::atomic<int>*>(static_cast<const std::atomic<int>*>(context))->fetch_add(part);
        },
        &sum, 10);
  }
  EXPECT_EQ(sum, 5 * 45);
}

TEST(Pool, SlotsAreInRangeAndTheCallerHasSlotZero) {
  Pool pool(2);
  std::atomic<bool> good{true};
  for (int i = 0; i < 200; ++i)
    pool.run(
        [](const void* context, int, int slot) {
          if (slot < 0 || slot > 1)
            const_cast<std::atomic<bool>*>(static_cast<const std::atomic<bool>*>(context))->store(false);
        },
        &good, 8);
  EXPECT_TRUE(good);
}

TEST(Pool, OneThreadNeedsNoWorkers) {
  Pool pool(1);
  std::vector<int> order;
  pool.run(
      [](const void* context, int part, int slot) {
        EXPECT_EQ(slot, 0);
        const_cast<std::vector<int>*>(static_cast<const std::vector<int>*>(context))->push_back(part);
      },
      &order, 3);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
}

}  // namespace
}  // namespace plimsoll
