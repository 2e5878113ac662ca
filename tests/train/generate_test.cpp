#include "train/generate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace plimsoll {
namespace {

// How often each token is drawn by evenly spread numbers.
std::map<int32_t, double> drawn(const std::vector<float>& logits, const SamplingOptions& options) {
  std::map<int32_t, double> shares;
  constexpr int draws = 10000;
  for (int n = 0; n < draws; ++n) {
    std::vector<Candidate> candidates;
    for (size_t i = 0; i < logits.size(); ++i) candidates.emplace_back(logits[i], int32_t(i));
    shares[draw_token(candidates, options, (n + 0.5) / draws)] += 1. / draws;
  }
  return shares;
}

std::vector<float> logits_of(const std::vector<double>& chances) {
  std::vector<float> logits;
  for (const double chance : chances) logits.push_back(float(std::log(chance)) + 5);
  return logits;
}

const std::vector<float> four = logits_of({.1, .4, .2, .3});

TEST(Draw, TokensComeAsOftenAsTheirLogitsSay) {
  const auto shares = drawn(four, {});
  EXPECT_NEAR(shares.at(0), .1, 1e-3);
  EXPECT_NEAR(shares.at(1), .4, 1e-3);
  EXPECT_NEAR(shares.at(2), .2, 1e-3);
  EXPECT_NEAR(shares.at(3), .3, 1e-3);
}

TEST(Draw, TopKAndTopPKeepTheLikeliest) {
  const auto two = drawn(four, {.top_k = 2}), most = drawn(four, {.top_p = .65});
  for (const auto& shares : {two, most}) {
    ASSERT_EQ(shares.size(), 2u);
    EXPECT_NEAR(shares.at(1), 4. / 7, 1e-3);
    EXPECT_NEAR(shares.at(3), 3. / 7, 1e-3);
  }
  EXPECT_EQ(drawn(four, {.top_p = .1}).size(), 1u);
  EXPECT_EQ(drawn(four, {.top_k = 9}).size(), 4u);
  const auto equal = drawn({1, 1, 1, 1}, {.top_k = 2});  // the same ones on every machine
  EXPECT_TRUE(equal.contains(0) && equal.contains(1) && equal.size() == 2);
}

TEST(Draw, TemperatureSharpensAndZeroTakesTheLikeliest) {
  EXPECT_NEAR(drawn(four, {.temperature = .5}).at(1), .16 / (.01 + .16 + .04 + .09), 1e-3);
  const auto sure = drawn(four, {.temperature = 0});
  EXPECT_EQ(sure.size(), 1u);
  EXPECT_TRUE(sure.contains(1));
}

}  // namespace
}  // namespace plimsoll
