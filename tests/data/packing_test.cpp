#include "data/packing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/random.hpp"

namespace plimsoll {
namespace {

// As the definition says: the longest first, each where the least room is left.
size_t plain_best_fit(std::vector<uint32_t> lengths, uint32_t room) {
  std::stable_sort(lengths.begin(), lengths.end(), std::greater<>());
  std::vector<uint32_t> left;
  for (const uint32_t length : lengths) {
    if (length == 0) continue;
    auto best = left.end();
    for (auto it = left.begin(); it != left.end(); ++it)
      if (*it >= length && (best == left.end() || *it < *best)) best = it;
    if (best == left.end()) best = left.insert(left.end(), room);
    *best -= length;
  }
  return left.size();
}

TEST(Packing, PutsEverySampleOnceAndNoWindowOverflows) {
  const CounterRng random(3, Stream::shuffle);
  uint64_t draw = 0;
  for (int round = 0; round < 100; ++round) {
    const auto room = uint32_t(1 + random.below(draw++, 100));
    std::vector<uint32_t> lengths(random.below(draw++, 200));
    for (uint32_t& length : lengths) length = uint32_t(random.below(draw++, room + 1));
    const Packing packing = pack(lengths, room);
    std::multiset<uint32_t> seen(packing.samples.begin(), packing.samples.end());
    for (uint32_t i = 0; i < lengths.size(); ++i) EXPECT_EQ(seen.count(i), lengths[i] > 0 ? 1u : 0u);
    for (size_t w = 0; w < packing.windows(); ++w) {
      uint32_t sum = 0;
      for (uint32_t i = packing.begin[w]; i < packing.begin[w + 1]; ++i) sum += lengths[packing.samples[i]];
      EXPECT_TRUE(sum > 0 && sum <= room) << sum << " of " << room;
    }
    EXPECT_EQ(packing.windows(), plain_best_fit(lengths, room));
  }
}

TEST(Packing, OfNothingIsNothing) { EXPECT_EQ(pack({}, 8).windows(), 0u); }

TEST(Permutation, VisitsEveryPlaceOnce) {
  for (const uint64_t count : {1, 2, 3, 7, 64, 65, 1000}) {
    std::set<uint64_t> seen;
    for (uint64_t i = 0; i < count; ++i) seen.insert(permuted(i, count, 5, 2));
    EXPECT_EQ(seen.size(), count);
    EXPECT_EQ(*seen.rbegin(), count - 1);
  }
}

TEST(Permutation, DiffersByEpochAndSeed) {
  const auto order = [](uint64_t seed, uint64_t epoch) {
    std::vector<uint64_t> places;
    for (uint64_t i = 0; i < 100; ++i) places.push_back(permuted(i, 100, seed, epoch));
    return places;
  };
  EXPECT_EQ(order(1, 0), order(1, 0));
  EXPECT_NE(order(1, 0), order(1, 1));
  EXPECT_NE(order(1, 0), order(2, 0));
  // Neighbours do not stay neighbours.
  const auto places = order(1, 0);
  int together = 0;
  for (size_t i = 1; i < places.size(); ++i) together += places[i] == places[i - 1] + 1;
  EXPECT_LT(together, 10);
}

}  // namespace
}  // namespace plimsoll
