#include "loss/distrust.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>
#include <vector>

namespace plimsoll {
namespace {

DistrustArgument refused(double authority, double entropy, double alpha = default_distrust_alpha) {
  try {
    distrust_loss({authority, entropy}, alpha);
  } catch (const DistrustRangeError& error) {
    EXPECT_EQ(error.code, Exit::usage);
    return error.argument;
  }
  return DistrustArgument::none;
}

TEST(Distrust, HasItsKnownValues) {
  EXPECT_GT(distrust_loss({.05, 7.0}), 100);
  EXPECT_LT(distrust_loss({.90, 1.0}), 50);
  EXPECT_GT(distrust_loss({.05, 7.5}) / distrust_loss({.90, 1.0}), 20);
  EXPECT_DOUBLE_EQ(distrust_loss({.3, 2}, 2.5), 2.5 * std::pow(std::log(1 - .3 + 1e-8) + 2, 2));
  EXPECT_NEAR(distrust_loss({}), 67.5, 1e-5);  // what a sample without the fields has: 2.7 * 5^2
}

TEST(Distrust, RefusesWhatIsOutOfRange) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinite = HUGE_VAL;
  for (double authority : {-1e-9, .9900001, 1., nan, infinite})
    EXPECT_EQ(refused(authority, 5), DistrustArgument::authority_weight) << authority;
  for (double entropy : {-1e-9, -5., nan, infinite})
    EXPECT_EQ(refused(.5, entropy), DistrustArgument::provenance_entropy) << entropy;
  for (double alpha : {2.2999, 3.0001, 0., nan, -2.7})
    EXPECT_EQ(refused(.5, 5, alpha), DistrustArgument::alpha) << alpha;
  EXPECT_EQ(refused(0, 0, 2.3), DistrustArgument::none);
  EXPECT_EQ(refused(.99, 1e6, 3.0), DistrustArgument::none);
}

TEST(Distrust, WeightsHaveMeanOneAndFollowTheirStrength) {
  EXPECT_TRUE(rc::check([] {
    std::vector<float> losses;
    for (int value : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 100000)))
      losses.push_back(static_cast<float>(value) / 100);
    if (losses.empty()) losses.push_back(1);
    const double strength = *rc::gen::inRange(0, 101) / 100.;
    std::vector<float> weights = losses;
    distrust_weights(weights, strength);
    double sum = 0, total = 0;
    for (size_t i = 0; i < losses.size(); ++i) {
      sum += weights[i];
      total += losses[i];
      RC_ASSERT(weights[i] >= -1e-6f);
    }
    RC_ASSERT(std::abs(sum / double(losses.size()) - 1) < 1e-5);
    for (size_t i = 0; i < losses.size() && total > 0; ++i) {
      const double whole = losses[i] * double(losses.size()) / total;
      RC_ASSERT(std::abs(weights[i] - (1 + strength * (whole - 1))) < 1e-4 * (1 + whole));
      if (strength == 0) RC_ASSERT(weights[i] == 1);
    }
  }));
}

TEST(Distrust, WeightsDoNotDependOnAlpha) {
  std::vector<float> one, other;
  for (double entropy : {1., 3., 7.}) {
    one.push_back(float(distrust_loss({.2, entropy}, 2.3)));
    other.push_back(float(distrust_loss({.2, entropy}, 3.0)));
  }
  distrust_weights(one, 1);
  distrust_weights(other, 1);
  for (size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], other[i], 1e-6);
}

}  // namespace
}  // namespace plimsoll
