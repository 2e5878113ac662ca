// Character plots, and the textual comparison of two runs.
#include "report/text.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "report/compare.hpp"
#include "report/plot.hpp"

namespace plimsoll::report {
namespace {

size_t letters(const std::string& text) {
  size_t count = 0;
  for (const char c : text) count += (c & 0xc0) != 0x80;
  return count;
}

TEST(Sparkline, RisesWithItsValues) {
  std::vector<double> values;
  for (int i = 0; i < 80; ++i) values.push_back(i);
  EXPECT_EQ(sparkline(values, 8, true), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(sparkline(values, 8, false), "_.,-=+*#");
  EXPECT_EQ(sparkline(std::vector<double>{5, 5, 5}, 8, true), "▁▁▁");
  EXPECT_EQ(sparkline(std::vector<double>{}, 8, true), "");
}

TEST(Plot, DrawsASpikeOfOneSampleAmongManyAndFitsItsSize) {
  std::vector<PlotPoint> points;
  for (int i = 0; i < 5000; ++i) points.push_back({double(i), i == 2500 ? 100. : 0.});
  const auto lines = plot(points, 40, 6, 0, 100, false);
  ASSERT_EQ(lines.size(), 6u);
  for (const std::string& line : lines) EXPECT_EQ(line.size(), 40u);
  EXPECT_EQ(std::count(lines[0].begin(), lines[0].end(), '#'), 1);
  EXPECT_EQ(lines[5], std::string(40, '#'));
  for (const std::string& line : plot(points, 40, 6, 0, 100, true)) EXPECT_EQ(letters(line), 40u);
}

RunData run_of(double floor, double speed) {
  RunData data;
  verdict::Verdict& verdict = data.judgement.emplace().verdict;
  verdict.kind = verdict::Kind::no_leak, verdict.floor_end = floor, verdict.sentence = "No leak.";
  for (int i = 0; i < 9; ++i) {
    RunReader::Memory row;
    row.time = i, row.rss = int64_t(floor);
    data.memory.push_back(row);
    data.steps.push_back({.step = i, .time = double(i), .iterations_per_second = speed});
  }
  return data;
}

TEST(Compare, SaysLessAndSlower) {
  const Difference found = compare(run_of(100e6, 54), run_of(59e6, 50));
  EXPECT_NEAR(found.floor_ratio, .59, 1e-9);
  EXPECT_EQ(
      found.sentence,
      "B uses 41 % less at the floor (59.0 MB against 100 MB), 41 % less at its peak (59.0 MB against 100 "
      "MB), 1.08x slower.");
  EXPECT_NE(compare(run_of(59e6, 50), run_of(100e6, 54)).sentence.find("69 % more at the floor"),
            std::string::npos);
  EXPECT_NE(compare(run_of(59e6, 50), run_of(59e6, 54)).sentence.find("1.08x faster"), std::string::npos);
  EXPECT_NE(compare(run_of(59e6, 50), run_of(59e6, 50)).sentence.find("the same at the floor"),
            std::string::npos);
  EXPECT_FALSE(compare({}, {}).sentence.empty());
}

TEST(Markdown, NamesTheLineOfTheProgram) {
  RunData data = run_of(1e8, 1);
  data.sites.emplace_back();
  data.sites[0].stack = "train.py:9 <module>\ntrain.py:5 step\nobmalloc.c:7 default_malloc";
  data.sites[0].place = "train.py:5 step";
  EXPECT_NE(markdown(data).find("| train.py:5 step |"), std::string::npos) << markdown(data);
  data.sites[0].place.clear();  // of an older file
  EXPECT_NE(markdown(data).find("| obmalloc.c:7 default\\_malloc |"), std::string::npos) << markdown(data);
}

TEST(Terminal, LeavesOutWhatIsJson) {
  RunData data = run_of(1e8, 1);
  data.events.resize(2);
  data.events[0].kind = "guard-summary", data.events[0].text = "{\"level\":\"stop\"}";
  data.events[1].kind = "guard", data.events[1].text = "summary: highest level stop";
  const std::string text = terminal_text(data, {});
  EXPECT_EQ(text.find("guard-summary"), std::string::npos) << text;
  EXPECT_NE(text.find("summary: highest level stop"), std::string::npos) << text;
}

TEST(Terminal, KeepsToItsColumns) {
  const RunData data = run_of(59e6, 50);
  for (const size_t columns : {40u, 80u, 120u}) {
    std::string text = terminal_text(data, {.columns = columns}), line;
    for (const char c : text + "\n") {
      if (c != '\n') {
        line += c;
        continue;
      }
      EXPECT_LE(letters(line), columns) << line;
      line.clear();
    }
  }
}

}  // namespace
}  // namespace plimsoll::report
