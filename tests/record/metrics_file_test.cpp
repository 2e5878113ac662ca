#include "record/metrics_file.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.hpp"
#include "record/folder.hpp"

namespace plimsoll {

namespace {
std::vector<nlohmann::json> lines_of(const std::filesystem::path& path) {
  std::vector<nlohmann::json> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    lines.push_back(nlohmann::json::parse(line, nullptr, false));
  return lines;
}
}  // namespace

TEST(MetricsFile, EveryLineIsJsonAndWhatIsNotANumberIsNull) {
  test::Folder folder;
  const auto path = folder.path / "metrics.jsonl";
  {
    MetricsFile metrics(path);
    metrics.step(
        {.step = 3, .time = 0.1, .loss = 0.1 + 0.2, .learning_rate = 3e-4, .gradient_norm = INFINITY});
    metrics.evaluation(
        {.step = INT64_MAX, .time = -1.7976931348623157e308, .loss = unknown_real, .floor = 5e-324});
  }
  const auto lines = lines_of(path);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["type"], "step");
  EXPECT_EQ(lines[0]["loss"].get<double>(), 0.1 + 0.2);  // digits enough to come back exactly
  EXPECT_TRUE(lines[0]["grad_norm"].is_null());
  EXPECT_TRUE(lines[0]["tokens_per_second"].is_null());
  EXPECT_EQ(lines[1]["step"].get<int64_t>(), INT64_MAX);
  EXPECT_TRUE(lines[1]["loss"].is_null());
  EXPECT_EQ(lines[1]["floor"].get<double>(), 5e-324);
}

TEST(MetricsFile, TheLongestLineOfAStepFits) {
  test::Folder folder;
  const auto path = folder.path / "metrics.jsonl";
  constexpr double longest = -1.7976931348623157e-308;
  {
    MetricsFile metrics(path);
    metrics.step(
        {INT64_MIN, longest, longest, longest, longest, longest, longest, longest, longest, longest});
  }
  const auto lines = lines_of(path);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0]["cross_entropy"].get<double>(), longest);
  EXPECT_EQ(lines[0]["distrust"].get<double>(), longest);
  EXPECT_EQ(lines[0]["waited"].get<double>(), longest);
}

TEST(MetricsFile, ATornLineIsClosedAndTheRestStaysReadable) {
  test::Folder folder;
  const auto path = folder.path / "metrics.jsonl";
  std::ofstream(path) << "{\"type\":\"step\",\"st";
  {
    MetricsFile metrics(path);
    metrics.step({.step = 1});
  }
  const auto lines = lines_of(path);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_TRUE(lines[0].is_discarded());
  EXPECT_EQ(lines[1]["step"], 1);
}

TEST(MetricsFile, AFileThatMayNotGrowLosesLinesNotTheirShape) {
  test::Folder folder;
  const auto path = folder.path / "metrics.jsonl";
  signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  rlimit tight = old;
  tight.rlim_cur = 1000;
  MetricsFile metrics(path);
  setrlimit(RLIMIT_FSIZE, &tight);
  for (int i = 0; i < 100; ++i) metrics.step({.step = i});
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_NE(metrics.error(), "");
  for (const auto& line : lines_of(path)) EXPECT_FALSE(line.is_discarded());
  metrics.step({.step = 100});
  EXPECT_EQ(metrics.error(), "");
  EXPECT_EQ(lines_of(path).back()["step"], 100);
}

TEST(MetricsFile, AFolderThatIsNotThereIsBadInput) {
  EXPECT_THROW(MetricsFile("/no/such/folder/metrics.jsonl"), InputError);
}

}  // namespace plimsoll
