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
