#include "verdict/sentence.hpp"

#include <gtest/gtest.h>

#include "verdict/verdict.hpp"

namespace plimsoll::verdict {
namespace {

std::string growing(double floor_end, double seconds_to_limit) {
  Verdict v;
  v.samples = 100;
  v.growing = true;
  v.rate = 1e6;
  v.floor_start = 50e6;
  v.floor_end = floor_end;
  v.limit_bytes = 150e6;
  v.seconds_to_limit = seconds_to_limit;
  return sentence(v, 0);
}

TEST(Sentence, GrowthSaysWhenTheLineIsReachedOrThatItWas) {
  EXPECT_NE(growing(100e6, 50).find("reaches 150 MB in 50.0s at this rate"), std::string::npos)
      << growing(100e6, 50);
  EXPECT_NE(growing(300e6, 0).find("is already above 150 MB"), std::string::npos) << growing(300e6, 0);
  EXPECT_EQ(growing(300e6, 0).find("reaches"), std::string::npos) << growing(300e6, 0);
}

// Twenty samples and more, of which start-up and end leave nothing to judge.
TEST(Sentence, WhereNothingCouldBeJudgedNoRateIsNamed) {
  Verdict v;
  v.samples = 21;
  v.floor_start = v.floor_end = 85.5e6;
  v.needs_seconds = 20;
  EXPECT_EQ(sentence(v, 0),
            "Undecided: too little was seen between the program's start-up and its end; about 20.0s more "
            "would do.");
}

}  // namespace
}  // namespace plimsoll::verdict
