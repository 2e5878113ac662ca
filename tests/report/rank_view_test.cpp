// The ranks of one training run: the worst and the one the others wait for are named.
#include "report/rank_view.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/run_json.hpp"

namespace plimsoll::report {
namespace {

// Four ranks on two nodes, a step a second. Rank `leaking` grows by 2 MB a step; the others wait 10 ms of 40 for `slow`.
RunData four_ranks(int leaking, int slow) {
  RunData data;
  data.run.kind = "train";
  for (int step = 1; step <= 200; ++step)
    for (int rank = 0; rank < 4; ++rank)
      data.rank_samples.push_back({.rank = rank,
                                   .time = double(step),
                                   .step = step,
                                   .rss = 400'000'000 + (rank == leaking ? step * 2'000'000 : 0) +
                                          (step * 7919 + rank * 104729) % 1000 * 100,
                                   .step_seconds = .04,
                                   .waiting_seconds = rank == slow ? .001 : .011,
                                   .exchange_seconds = .002});
  for (int rank = 0; rank < 4; ++rank) {
    data.configuration.emplace_back(fmt::format("rank.{}.node", rank), rank < 2 ? "a" : "b");
    data.configuration.emplace_back(fmt::format("rank.{}.plan_bytes", rank), "390000000");
  }
  return data;
}

TEST(RankView, NamesTheRankThatLeaksAndTheSlowOne) {
  const RankView view = view_ranks(four_ranks(3, 1), true);
  ASSERT_EQ(view.rows.size(), 4u);
  EXPECT_EQ(view.leaks, 1u);
  EXPECT_EQ(view.worst, 3u);
  EXPECT_EQ(view.slowest, 1u);
  EXPECT_TRUE(view.sentence.starts_with("Rank 3 on b leaks: ")) << view.sentence;
  EXPECT_NE(view.sentence.find("the other 3 do not"), std::string::npos) << view.sentence;
  EXPECT_NE(view.sentence.find("The others wait for rank 1 on a: 10.0 ms"), std::string::npos)
      << view.sentence;
  EXPECT_GT(view.skew, .5);
  EXPECT_EQ(view.rows[2].plan, 390e6);
}

TEST(RankView, SaysNothingOfWhatIsEven) {
  RunData data = four_ranks(-1, -1);
  const RankView view = view_ranks(data, true);
  EXPECT_EQ(view.leaks, 0u);
  EXPECT_TRUE(view.sentence.starts_with("4 ranks. Peak: ")) << view.sentence;
  EXPECT_EQ(view.sentence.find("wait"), std::string::npos) << view.sentence;
  std::erase_if(data.rank_samples, [](const RankSampleRow& row) { return row.rank > 0; });
  EXPECT_TRUE(view_ranks(data, true).rows.empty());
}

TEST(RankView, IsPartOfTheReport) {
  RunData data = four_ranks(2, 0);
  data.ranks = view_ranks(data, true);
  const auto json = nlohmann::json::parse(run_json(data));
  EXPECT_EQ(json["ranks"]["worst"], 2);
  EXPECT_EQ(json["ranks"]["rows"].size(), 4u);
  EXPECT_EQ(json["ranks"]["rows"][0][0], 2) << "the highest peak comes first";
}

}  // namespace
}  // namespace plimsoll::report
