// Made-up lines as samples show them: 30 slots, each holding 30 blocks that are replaced together.
#include "diagnose/turnover.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace plimsoll::diagnose {
namespace {

constexpr double sample_bytes = 128 << 10, block = 30e3;
constexpr int slots = 30, blocks_in_slot = 30;

// One slot is replaced every 20 ms, a look is taken every 100 ms; blocks grow by `growth` over the time.
std::vector<verdict::Sample> replacing(uint32_t seed, double seconds, double growth = 0) {
  std::mt19937 random(seed);
  std::vector<double> held(slots);
  std::vector<verdict::Sample> looks;
  for (int i = 0; i * 0.02 < seconds; ++i) {
    const double size = block * (1 + growth * i * 0.02 / seconds), seen = -std::expm1(-size / sample_bytes);
    held[size_t(i % slots)] = std::binomial_distribution<int>(blocks_in_slot, seen)(random) * (size / seen);
    if (i % 5) continue;
    looks.push_back({i * 0.02, 0});
    for (const double bytes : held) looks.back().bytes += bytes;
  }
  return looks;
}

const HeldNow as_now{slots * 0.02,
                     sampling_error(slots* blocks_in_slot* block, slots* blocks_in_slot, sample_bytes)};

TEST(Turnover, TheErrorIsThatOfTheSamples) {
  double sum = 0, squares = 0;
  const int runs = 400;
  for (int seed = 0; seed < runs; ++seed) {
    const double bytes = replacing(uint32_t(seed), 1).back().bytes;
    sum += bytes, squares += bytes * bytes;
  }
  const double mean = sum / runs, deviation = std::sqrt(squares / runs - mean * mean);
  EXPECT_NEAR(mean, slots * blocks_in_slot * block, 0.02 * mean);
  EXPECT_NEAR(as_now.error, deviation, 0.15 * deviation);
  EXPECT_LT(sampling_error(100e6, 2, sample_bytes), 1);  // each of them is seen
  EXPECT_EQ(sampling_error(0, 0, sample_bytes), 0);
}

// However the growth of the first moments is judged.
TEST(Turnover, ACacheThatIsReplacedAllTheTimeGrowsByChanceOnly) {
  for (uint32_t seed = 0; seed < 300; ++seed)
    for (const double onset : {0., 1., 4.})
      EXPECT_TRUE(replaced_by_chance(replacing(seed, 8), onset, as_now)) << seed;
}

TEST(Turnover, WhatIsMadeAnewAndEverLargerGrows) {
  for (uint32_t seed = 0; seed < 20; ++seed)
    EXPECT_FALSE(replaced_by_chance(replacing(seed, 20, 2), 0, as_now)) << seed;
  // One array that is copied into a larger one at each step: nothing of it is old, and each of its bytes is known.
  std::vector<verdict::Sample> copied;
  for (int i = 0; i < 100; ++i) copied.push_back({i * 0.1, 1e6 + 2e3 * i});
  EXPECT_FALSE(replaced_by_chance(copied, 0, {0.1, sampling_error(1.2e6, 1, sample_bytes)}));
}

TEST(Turnover, WhatHoldsSomethingOldIsJudgedByItsBytes) {
  const auto held = replacing(1, 8);
  EXPECT_FALSE(replaced_by_chance(held, 0, {5, as_now.error}));
  EXPECT_TRUE(replaced_by_chance(held, 0, {3, as_now.error}));
  EXPECT_FALSE(replaced_by_chance(held, 4, {3, as_now.error}));  // as old as the growth
  EXPECT_FALSE(replaced_by_chance(held, 0, {0, as_now.error}));  // its age is not known
  EXPECT_FALSE(replaced_by_chance({}, 0, as_now));
}

}  // namespace
}  // namespace plimsoll::diagnose
