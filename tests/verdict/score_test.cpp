// A short version of `make verdict-score`: the stated bounds, with slack for the small number of series.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "verdict/generator.hpp"

namespace plimsoll::verdict {
namespace {

TEST(Score, FinalVerdictKeepsItsBounds) {
  constexpr uint64_t each = 10;
  int alarms = 0, benign = 0, found = 0, leaks = 0;
  std::vector<double> errors;
  for (const std::string& shape : benign_shapes())
    for (uint64_t i = 0; i < each; ++i, ++benign)
      alarms += judge(generate(shape, 1000 + i, Ranges::development).samples).kind == Kind::leak;
  for (const std::string& shape : leaking_shapes())
    for (uint64_t i = 0; i < each; ++i) {
      GeneratedSeries s = generate(shape, 1000 + i, Ranges::development);
      if (s.truth.growth < .1) continue;
      Verdict v = judge(s.samples);
      ++leaks, found += v.kind == Kind::leak;
      if (v.kind == Kind::leak) errors.push_back(std::abs(v.rate / s.truth.rate - 1));
    }
  EXPECT_LE(alarms, benign * .025);
  EXPECT_GE(found, leaks * .87);
  std::sort(errors.begin(), errors.end());
  EXPECT_LE(errors[errors.size() / 2], .05);
}

// Where the intervals of the floor end decides these at one resolution or another; all of them together are right.
TEST(Score, SeveralResolutionsDecideTogether) {
  auto kind = [](const char* shape, uint64_t seed, Ranges ranges) {
    return judge(generate(shape, seed, ranges).samples).kind;
  };
  EXPECT_NE(kind("epochs", 400018, Ranges::development), Kind::leak);
  EXPECT_NE(kind("fragmentation and a step", 400017, Ranges::development), Kind::leak);
  EXPECT_NE(kind("several steps", 400021, Ranges::held_out), Kind::leak);
  EXPECT_EQ(kind("in bursts", 400016, Ranges::development), Kind::leak);
  EXPECT_EQ(kind("under a saw-tooth", 400013, Ranges::development), Kind::leak);
  EXPECT_EQ(kind("late start", 400032, Ranges::held_out), Kind::leak);
}

TEST(Score, WhileRunningBenignShapesStayQuiet) {
  int alarms = 0, benign = 0;
  for (const std::string& shape : benign_shapes()) {
    for (uint64_t i = 0; i < 3; ++i, ++benign) {
      OnlineVerdict online;
      for (const Sample& s : generate(shape, 2000 + i, Ranges::development).samples) online.add(s);
      alarms += online.first_leak().has_value();
    }
  }
  EXPECT_LE(alarms, benign * .04);
}

}  // namespace
}  // namespace plimsoll::verdict
