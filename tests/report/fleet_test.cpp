// Many runs as one: the one that leaks is named, files that cannot be read do not hide it.
#include "report/fleet.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "record/run_record.hpp"

namespace plimsoll::report {
namespace {

class FleetTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Two hundred steps of a watched program, a step a second, which grows by so many bytes a step.
  std::string rank_file(int rank, double growth) {
    const std::string path = (folder_ / fmt::format("run-rank{:03}.db", rank)).string();
    RunRecord record = RunRecord::create(path, {.kind = RunKind::watch, .machine = "test"});
    record.configuration("rank", std::to_string(rank));
    record.configuration("node", rank % 2 ? "b" : "a");
    record.configuration("command", "python train.py");
    for (int i = 0; i < 200; ++i) {
      record.step({.step = i, .time = double(i)});
      const double jitter = double((i * 7919 + rank * 104729) % 1000) * 100;
      record.memory({.time = double(i),
                     .step = i,
                     .rss = int64_t(400e6 + double(rank) * 1e5 + growth * i + jitter),
                     .pss = int64_t(400e6 + double(rank) * 1e5 + growth * i + jitter)});
    }
    return path;
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) /
      fmt::format("plimsoll-fleet-{}", ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(FleetTest, NamesTheRankThatLeaks) {
  std::vector<std::string> files;
  for (int rank = 0; rank < 24; ++rank) files.push_back(rank_file(rank, rank == 17 ? 2.1e6 : 0));
  const Fleet fleet = read_fleet(files);
  EXPECT_EQ(fleet.leaks, 1u);
  EXPECT_EQ(fleet.judged, 24u);
  EXPECT_EQ(fleet.members[fleet.worst].rank, 17);
  EXPECT_TRUE(fleet.sentence.starts_with("rank 17 on b leaks: 2.1")) << fleet.sentence;
  EXPECT_NE(fleet.sentence.find("the other 23 do not"), std::string::npos) << fleet.sentence;
  EXPECT_GT(fleet.skew, .5);
  EXPECT_EQ(worst_first(fleet).front()->rank, 17);

  const auto json = nlohmann::json::parse(fleet_json(fleet));
  EXPECT_EQ(json["worst"], "rank 17 on b");
  EXPECT_EQ(json["members"].size(), 24u);
  const std::string page = fleet_page(fleet);
  EXPECT_NE(page.find("rank 17 on b leaks"), std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_LT(page.size(), 24 * 5000u + 50'000u);
  EXPECT_NE(fleet_terminal(fleet, {}, 10).find("and 14 more"), std::string::npos);
}

TEST_F(FleetTest, WithoutALeakItSaysSo) {
  std::vector<std::string> files;
  for (int rank = 0; rank < 3; ++rank) files.push_back(rank_file(rank, 0));
  const Fleet fleet = read_fleet(files);
  EXPECT_EQ(fleet.leaks, 0u);
  EXPECT_EQ(fleet.sentence.find("leaks:"), std::string::npos) << fleet.sentence;
}

TEST_F(FleetTest, WhatCannotBeReadIsListedAndHidesNothing) {
  const std::string bad = (folder_ / "bad.db").string();
  std::ofstream(bad) << "no <b>database</b>";
  const std::vector<std::string> files = {bad, rank_file(1, 2.1e6)};
  const Fleet fleet = read_fleet(files);
  EXPECT_EQ(fleet.unread, 1u);
  EXPECT_EQ(fleet.leaks, 1u);
  EXPECT_EQ(fleet.members[fleet.worst].rank, 1);
  EXPECT_NE(fleet.sentence.find("1 of 2 files could not be read"), std::string::npos) << fleet.sentence;
  EXPECT_EQ(fleet_page(fleet).find("<b>database"), std::string::npos);
}

TEST_F(FleetTest, WhatIsNotJudgedIsNotSaidToBeClean) {
  const std::string few = (folder_ / "few.db").string(), none = (folder_ / "none.db").string();
  RunRecord::create(none, {.kind = RunKind::watch, .machine = "test"});
  {
    RunRecord record = RunRecord::create(few, {.kind = RunKind::watch, .machine = "test"});
    for (int i = 0; i < 3; ++i)
      record.memory({.time = double(i), .rss = 100'000'000 + i, .pss = 100'000'000 + i});
  }
  const auto sentence = [](const std::vector<std::string>& files) { return read_fleet(files).sentence; };
  const std::string leak = rank_file(1, 2.1e6);
  EXPECT_NE(sentence({leak, few}).find("; 1 is undecided."), std::string::npos) << sentence({leak, few});
  EXPECT_NE(sentence({leak, none}).find("; 1 has too few measurements"), std::string::npos)
      << sentence({leak, none});
  EXPECT_NE(sentence({leak, rank_file(2, 0)}).find("; the other does not."), std::string::npos);
  EXPECT_NE(sentence({leak, rank_file(3, 2e6), few}).find("; 2 of 3 leak; 1 is undecided."),
            std::string::npos);
  EXPECT_NE(sentence({few}).find("1 of 1 run is undecided"), std::string::npos) << sentence({few});
  EXPECT_EQ(sentence({leak}).find("other"), std::string::npos) << sentence({leak});
}

TEST_F(FleetTest, TheMedianOfTwoIsBetweenThem) {
  const Fleet fleet = read_fleet(std::vector{rank_file(0, 0), rank_file(500, 0)});
  EXPECT_NEAR(fleet.median_floor, 425e6, 1e6);
  EXPECT_NEAR(fleet.skew, 25. / 425, 0.005);
}

TEST_F(FleetTest, FloorsThatAreNotKnownAreNotCompared) {
  const std::string one = (folder_ / "one.db").string();
  RunRecord::create(one, {.kind = RunKind::watch, .machine = "test"})
      .memory({.time = 0, .rss = 100'000'000, .pss = 100'000'000});
  const Fleet fleet = read_fleet(std::vector{one, one});
  EXPECT_EQ(fleet.sentence.find("Floor"), std::string::npos) << fleet.sentence;
  EXPECT_NEAR(read_fleet(std::vector{one, rank_file(0, 0)}).median_floor, 400e6, 1e6);
}

TEST_F(FleetTest, TheRunsOfAFolderAreFound) {
  rank_file(3, 0);
  std::filesystem::create_directories(folder_ / "mine");
  std::filesystem::copy_file(rank_file(4, 0), folder_ / "mine" / "run.db");
  const auto found = find_runs(folder_.string());
  EXPECT_EQ(found.size(), 3u);
  EXPECT_NE(runs_table(read_fleet(found)).find("rank 3 on b"), std::string::npos);
}

TEST_F(FleetTest, TooManyAreRefused) {
  EXPECT_THROW(read_fleet(std::vector<std::string>(most_members + 1, "x.db")), InputError);
}

}  // namespace
}  // namespace plimsoll::report
