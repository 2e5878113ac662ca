// The named configurations and the number of operations of a step.
#include "bench/config.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "model/families.hpp"

namespace plimsoll::bench {
namespace {

TEST(BenchConfig, CountsTheWorkOfAStep) {
  // 2 sequences of 3 tokens, 1 layer of width 4, 5 tokens to choose from: 6 x (6 x (12 x 16 + 20) + 12 x 3 x
  // 4).
  const Config config{"by hand", 5, 3, 1, 2, 4, 2};
  EXPECT_EQ(config.flops(), 6 * (6 * (12 * 16 + 20) + 12 * 3 * 4));
}

TEST(BenchConfig, TheLargestIsTheKnownModel) {
  Config published = find_config("gpt2-long");
  EXPECT_EQ(published.context, 1024);
  published.vocab = 50257;  // the published vocabulary is not padded
  EXPECT_EQ(parameter_count(published.model()), 124'439'808u);
}

TEST(BenchConfig, RefusesWhatIsNoModel) {
  for (const Config& config : configs()) EXPECT_NO_THROW(check(config)) << config.name;
  EXPECT_THROW(find_config("huge"), InputError);
  Config config = find_config("tiny1");
  config.heads = 3;
  EXPECT_THROW(check(config), InputError);
  config.heads = 0;
  EXPECT_THROW(check(config), InputError);
}

}  // namespace
}  // namespace plimsoll::bench
