#include "tokens/merges.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "base/random.hpp"

namespace plimsoll::tokens {
namespace {

using Ids = std::vector<int32_t>;

Ids joined(const Merges& merges, Ids tokens) {
  merges.join(tokens, 0);
  return tokens;
}

TEST(Merges, JoinTheLowestRankThenTheLeftmost) {
  Merges merges(3);
  merges.add(1, 2, 0, 12);
  merges.add(2, 3, 1, 23);
  merges.add(1, 1, 2, 11);
  EXPECT_EQ(joined(merges, {1, 2, 3}), (Ids{12, 3}));
  EXPECT_EQ(joined(merges, {4, 2, 3}), (Ids{4, 23}));
  EXPECT_EQ(joined(merges, {1, 1, 1}), (Ids{11, 1}));
  EXPECT_EQ(joined(merges, {1, 1, 2}), (Ids{1, 12}));
  EXPECT_EQ(joined(merges, {5}), (Ids{5}));
}

TEST(Merges, LeaveWhatStandsBefore) {
  Merges merges(1);
  merges.add(1, 2, 0, 12);
  Ids tokens = {1, 1, 2};
  merges.join(tokens, 1);
  EXPECT_EQ(tokens, (Ids{1, 12}));
}

TEST(Merges, TakeTheLaterRankOfAPairGivenTwice) {
  Merges merges(3);
  merges.add(1, 2, 0, 12);
  merges.add(2, 3, 1, 23);
  merges.add(1, 2, 2, 12);
  EXPECT_EQ(joined(merges, {1, 2, 3}), (Ids{1, 23}));
}

// As the definition says, one join at a time.
Ids joined_plainly(const std::vector<std::array<int32_t, 3>>& rules, Ids tokens) {
  for (;;) {
    size_t best = rules.size(), place = 0;
    for (size_t i = 0; i + 1 < tokens.size(); ++i)
      for (size_t rule = 0; rule < best; ++rule)
        if (tokens[i] == rules[rule][0] && tokens[i + 1] == rules[rule][1]) best = rule, place = i;
    if (best == rules.size()) return tokens;
    tokens[place] = rules[best][2];
    tokens.erase(tokens.begin() + long(place) + 1);
  }
}

TEST(Merges, JoinWordsOfAnyLengthAsDefined) {
  const CounterRng random(7, Stream::shuffle);
  uint64_t draw = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<std::array<int32_t, 3>> rules;
    Merges merges(40);
    for (int32_t i = 0; i < 40; ++i) {
      const auto left = int32_t(random.below(draw++, 4 + uint64_t(i))),
                 right = int32_t(random.below(draw++, 4 + uint64_t(i)));
      const bool known = std::any_of(rules.begin(), rules.end(),
                                     [&](const auto& rule) { return rule[0] == left && rule[1] == right; });
      if (known) continue;
      rules.push_back({left, right, 4 + i});
      merges.add(left, right, uint32_t(rules.size() - 1), 4 + i);
    }
    Ids tokens(1 + random.below(draw++, 90));  // below and above where another method takes over
    for (int32_t& token : tokens) token = int32_t(random.below(draw++, 4));
    EXPECT_EQ(joined(merges, tokens), joined_plainly(rules, tokens)) << round;
  }
}

// Pairs of a hostile file, which begin their walk through the table at few places.
TEST(Merges, FindPairsThatWereChosenToCollide) {
  constexpr size_t count = 3000, slots = 8192;
  std::vector<std::array<int32_t, 2>> pairs;
  for (int32_t left = 0; pairs.size() < count; ++left)
    for (int32_t right = 0; right < 1000 && pairs.size() < count; ++right) {
      const uint64_t hash = (uint64_t(left) << 32 | uint64_t(right)) * 0x9e3779b97f4a7c15ULL;
      if (((hash ^ hash >> 32) & (slots - 1)) < 8) pairs.push_back({left, right});
    }
  Merges merges(count);
  for (size_t i = 0; i < count; ++i)
    merges.add(pairs[i][0], pairs[i][1], uint32_t(i), int32_t(1'000'000 + i));
  for (size_t i = 0; i < count; ++i)
    ASSERT_EQ(joined(merges, {pairs[i][0], pairs[i][1]}), (Ids{int32_t(1'000'000 + i)})) << i;
}

TEST(Merges, JoinAMillionEqualTokens) {
  Merges merges(20);
  for (int32_t i = 0; i < 20; ++i) merges.add(i, i, uint32_t(i), i + 1);
  EXPECT_EQ(joined(merges, Ids(1 << 20, 0)), (Ids{20}));
}

}  // namespace
}  // namespace plimsoll::tokens
