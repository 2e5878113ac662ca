#include "record/sqlite_heap.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstring>
#include <map>
#include <thread>
#include <vector>

namespace plimsoll {

namespace {
struct Fixture {
  static constexpr size_t bytes = 64 * 1024;
  alignas(64) unsigned char memory[bytes];
  uint8_t orders[bytes / 64] = {};
  BuddyHeap heap;
  Fixture() { heap.adopt(memory, bytes, orders); }
};
}  // namespace

TEST(BuddyHeap, BlocksNeverOverlapAndAllComesBack) {
  EXPECT_TRUE(rc::check([] {
    auto fixture = std::make_unique<Fixture>();
    BuddyHeap& heap = fixture->heap;
    std::map<unsigned char*, size_t> live;
    const auto moves = *rc::gen::container<std::vector<std::pair<bool, uint16_t>>>(
        rc::gen::pair(rc::gen::arbitrary<bool>(), rc::gen::inRange<uint16_t>(1, 9000)));
    for (const auto& [take, number] : moves) {
      if (take || live.empty()) {
        auto* block = static_cast<unsigned char*>(heap.allocate(number));
        if (!block) continue;
        const size_t size = heap.size_of(block);
        RC_ASSERT(size >= number);
        RC_ASSERT(block >= fixture->memory && block + size <= fixture->memory + Fixture::bytes);
        auto after = live.lower_bound(block);
        if (after != live.end()) RC_ASSERT(block + size <= after->first);
        if (after != live.begin()) RC_ASSERT(std::prev(after)->first + std::prev(after)->second <= block);
        std::memset(block, 0xaa, size);
        live[block] = size;
      } else {
        auto victim = std::next(live.begin(), number % static_cast<long>(live.size()));
        heap.release(victim->first);
        live.erase(victim);
      }
      RC_ASSERT(heap.is_valid());
    }
    for (const auto& [block, size] : live) heap.release(block);
    RC_ASSERT(heap.is_valid());
    RC_ASSERT(heap.use().used == 0u);
    RC_ASSERT(static_cast<bool>(heap.allocate(Fixture::bytes)));  // merged into one again
  }));
}

TEST(BuddyHeap, WhatDoesNotFitIsRefusedAndCounted) {
  auto fixture = std::make_unique<Fixture>();
  EXPECT_EQ(fixture->heap.allocate(Fixture::bytes + 1), nullptr);
  void* all = fixture->heap.allocate(Fixture::bytes);
  EXPECT_NE(all, nullptr);
  EXPECT_EQ(fixture->heap.allocate(1), nullptr);
  EXPECT_EQ(fixture->heap.use().refused, 2u);
  fixture->heap.release(all);
  EXPECT_NE(fixture->heap.allocate(1), nullptr);
}

TEST(BuddyHeap, ThreadsShareIt) {
  auto fixture = std::make_unique<Fixture>();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < 5000; ++i) {
        const size_t size = 1 + (i * 37 + static_cast<size_t>(t)) % 700;
        auto* block = static_cast<unsigned char*>(fixture->heap.allocate(size));
        if (!block) continue;
        std::memset(block, t, size);
        for (size_t k = 0; k < size; ++k) ASSERT_EQ(block[k], t);
        fixture->heap.release(block);
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(fixture->heap.is_valid());
  EXPECT_EQ(fixture->heap.use().used, 0u);
}

}  // namespace plimsoll
