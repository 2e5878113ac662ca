#include "data/shuffle_buffer.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>

namespace plimsoll {
namespace {

// The items 0, 1, … of an epoch, to be read in order.
struct Source {
  uint64_t count, next = 0;
  bool operator()(uint64_t& item) {
    if (next == count) return false;
    item = next++;
    return true;
  }
};

std::vector<uint64_t> epoch(ShuffleBuffer& buffer, uint64_t number, uint64_t count) {
  std::vector<uint64_t> order;
  Source source{count};
  buffer.restart(number);
  for (uint64_t item = 0; buffer.draw(source, item);) order.push_back(item);
  return order;
}

TEST(ShuffleBuffer, GivesEveryItemOnceAnEpochAndTheSameOrderForTheSameSeed) {
  EXPECT_TRUE(rc::check([] {
    const auto count = *rc::gen::inRange<uint64_t>(0, 300);
    const auto capacity = *rc::gen::inRange<size_t>(1, 64);
    const auto seed = *rc::gen::arbitrary<uint64_t>();
    const auto number = *rc::gen::inRange<uint64_t>(0, 1000);
    ShuffleBuffer buffer(seed, capacity), again(seed, capacity);
    std::vector<uint64_t> order = epoch(buffer, number, count);
    RC_ASSERT(epoch(again, number, count) == order);
    // In bounded memory nothing can come before it was read.
    for (size_t i = 0; i < order.size(); ++i) RC_ASSERT(order[i] < i + capacity);
    std::sort(order.begin(), order.end());
    std::vector<uint64_t> all(count);
    std::iota(all.begin(), all.end(), 0u);
    RC_ASSERT(order == all);
  }));
}

TEST(ShuffleBuffer, ACursorSavedAnywhereResumesTheSameOrder) {
  EXPECT_TRUE(rc::check([] {
    const auto count = *rc::gen::inRange<uint64_t>(1, 300);
    const auto capacity = *rc::gen::inRange<size_t>(1, 64);
    const auto saved = *rc::gen::inRange<uint64_t>(0, count + 1);
    ShuffleBuffer buffer(9, capacity), resumed(9, capacity);
    const std::vector<uint64_t> order = epoch(buffer, 3, count);
    epoch(resumed, 2, *rc::gen::inRange<uint64_t>(0, 50));  // whatever it did before
    Source source{count};
    resumed.restart(3);
    uint64_t item = 0;
    for (uint64_t i = 0; i < saved; ++i) RC_ASSERT(resumed.draw(source, item));  // the cursor is a number
    for (uint64_t i = saved; i < count; ++i) {
      RC_ASSERT(resumed.draw(source, item));
      RC_ASSERT(item == order[i]);
    }
    RC_ASSERT(!resumed.draw(source, item));
  }));
}

TEST(ShuffleBuffer, MovesThingsAboutAndDiffersBySeedAndEpoch) {
  ShuffleBuffer one(1, 100), two(2, 100), ordered(1, 1);
  const auto first = epoch(one, 0, 1000), second = epoch(one, 1, 1000), other = epoch(two, 0, 1000);
  EXPECT_NE(first, second);
  EXPECT_NE(first, other);
  double moved = 0;
  for (size_t i = 0; i < first.size(); ++i) moved += std::abs(double(first[i]) - double(i));
  EXPECT_GT(moved / 1000, 20);
  std::vector<uint64_t> all(1000);
  std::iota(all.begin(), all.end(), 0u);
  EXPECT_EQ(epoch(ordered, 5, 1000), all);
}

}  // namespace
}  // namespace plimsoll
