#include "train/rank_prediction.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace plimsoll {
namespace {

TEST(RankPrediction, NetworksAreWrittenWithUnits) {
  EXPECT_DOUBLE_EQ(parse_bandwidth("10Gbit"), 1.25e9);
  EXPECT_DOUBLE_EQ(parse_bandwidth("100Mbit"), 12.5e6);
  EXPECT_DOUBLE_EQ(parse_latency("20us"), 20e-6);
  EXPECT_DOUBLE_EQ(parse_latency("0.2ms"), 0.2e-3);
  for (const char* wrong : {"", "10", "Gbit", "10Gbyte", "-1Gbit", "0Gbit", "1e99Gbit", "nanGbit"})
    EXPECT_THROW(parse_bandwidth(wrong), InputError) << wrong;
  for (const char* wrong : {"", "20", "us", "20m", "-1us"})
    EXPECT_THROW(parse_latency(wrong), InputError) << wrong;
}

TEST(RankPrediction, ThreadsBeyondTheProcessorsTakeTurns) {
  EXPECT_DOUBLE_EQ(in_turns(0.015, 2, 2), 0.015);
  EXPECT_DOUBLE_EQ(in_turns(0.015, 4, 2), 0.030);
  // Three on two: too short for the kernel to even out, or long enough.
  EXPECT_DOUBLE_EQ(in_turns(0.015, 3, 2), 0.030);
  EXPECT_NEAR(in_turns(1, 3, 2), 1.5, 0.1);
  EXPECT_GT(in_turns(1, 3, 2), 1.5);
}

TEST(RankPrediction, AFasterNetworkTakesLess) {
  Settings settings;
  settings.layers = 1, settings.dim = 16, settings.heads = 2, settings.ff = 32, settings.context = 8;
  settings.batch = 4, settings.micro_batch = 1, settings.leaves = 4, settings.threads = 1;
  const auto slow = predict_ranks(settings, 32, 4, {.bytes_per_second = 1e6, .latency = 1e-3}),
             fast = predict_ranks(settings, 32, 4, {.bytes_per_second = 1e9, .latency = 1e-3}),
             near = predict_ranks(settings, 32, 4, {.bytes_per_second = 1e9, .latency = 1e-5});
  ASSERT_EQ(slow.size(), fast.size());
  for (size_t r = 0; r < slow.size(); ++r) {
    const auto exchange = [](const RankPrediction& p) { return p.exchange_seconds + p.hidden_seconds; };
    EXPECT_GT(exchange(slow[r]), exchange(fast[r]));
    EXPECT_GT(exchange(fast[r]), exchange(near[r]));
    EXPECT_GT(slow[r].sent_bytes, 0u);
    EXPECT_EQ(slow[r].sent_bytes, fast[r].sent_bytes);
  }
}

TEST(RankPrediction, TooFewMicroBatchesNameTheBatch) {
  Settings settings;
  settings.layers = 1, settings.dim = 16, settings.heads = 2, settings.ff = 32, settings.context = 8;
  settings.batch = 1, settings.threads = 1;
  try {
    predict_ranks(settings, 32, 3, {});
    ADD_FAILURE();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("give --batch 3"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace plimsoll
