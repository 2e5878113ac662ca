#include "live/prometheus.hpp"

#include <gtest/gtest.h>

#include <regex>
#include <sstream>

namespace plimsoll::live {
namespace {

Current current_of(const RunTail::News& news) {
  Current current({.kind = "watch", .started = "2026-01-01T00:00:00Z", .version = "1", .machine = ""},
                  {{"batch", "4"}, {"accumulate", "2"}, {"context", "8"}, {"iterations", "100"}}, -1, 77,
                  1000);
  current.take(news);
  return current;
}

RunReader::Memory memory(double time, int64_t pss, int64_t swap) {
  RunReader::Memory row;
  row.time = time, row.rss = 900, row.pss = pss, row.swap = swap, row.limit = 5000, row.pressure = 12.5;
  return row;
}

RunReader::Process process(int64_t id, std::string name) {
  RunReader::Process row;
  row.id = id, row.pid = 100 + id, row.name = std::move(name), row.role = "main";
  return row;
}

bool has(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != text.npos;
}

TEST(Prometheus, GivesTheNewestValues) {
  RunTail::News news;
  news.memory = {memory(1, 10, 0), memory(2, 500, 50)};
  news.steps = {{.step = 7, .time = 2, .loss = 1.5, .tokens_per_second = 640, .iterations_per_second = 10}};
  news.phases = {{0, "train"}, {1, "evaluate"}};
  const std::string text = metrics_text(current_of(news));
  for (const char* line :
       {"plimsoll_memory_bytes 550", "plimsoll_tree_pss_bytes 500", "plimsoll_tree_rss_bytes 900",
        "plimsoll_memory_limit_bytes 5000", "plimsoll_memory_pressure_ratio 0.125", "plimsoll_plan_bytes 77",
        "plimsoll_train_step 7", "plimsoll_train_loss 1.5", "plimsoll_train_step_seconds 0.1",
        "plimsoll_train_tokens_total 448", "plimsoll_train_planned_steps 100", "plimsoll_run_seconds 2",
        "plimsoll_phase_info{phase=\"evaluate\"} 1", "plimsoll_verdict{verdict=\"undecided\"} 1"})
    EXPECT_TRUE(has(text, line)) << line << "\n" << text;
  EXPECT_EQ(text.find("nan"), text.npos) << "what is not known is left out";
  EXPECT_EQ(text.find("plimsoll_tree_gpu_bytes"), text.npos);
}

TEST(Prometheus, LabelsCannotBreakOut) {
  RunTail::News news;
  news.memory = {memory(1, 10, 0)};
  news.processes = {process(1, "<svg/onload=alert(1)>\n# TYPE x"), process(2, "a\"b\\c\x1b\xff")};
  const std::string text = metrics_text(current_of(news));
  const std::regex line(
      R"RE(# (HELP|TYPE) plimsoll_[a-z_]+ .*|plimsoll_[a-z_]+(\{([a-z]+="([^"\\]|\\.)*",?)+\})? -?[0-9.e+]+)RE");
  std::istringstream lines(text);
  for (std::string one; std::getline(lines, one);) EXPECT_TRUE(std::regex_match(one, line)) << one;
  EXPECT_EQ(text.find("\n# TYPE x"), text.npos);
  EXPECT_NE(text.find(R"(name="a\"b\\c\\x1b\\xff")"), text.npos) << text;
}

TEST(Prometheus, LabelsAreBounded) {
  RunTail::News news;
  news.memory = {memory(1, 10, 0)};
  for (int64_t i = 1; i <= 50; ++i) {
    news.processes.push_back(process(i, "p"));
    news.samples.push_back({.process = i, .time = 1, .rss = i, .pss = 10 * i});
  }
  const std::string text = metrics_text(current_of(news));
  size_t count = 0;
  for (size_t at = 0; (at = text.find("plimsoll_process_pss_bytes{", at)) != text.npos; ++at) ++count;
  EXPECT_EQ(count, labelled_processes + 1);
  EXPECT_TRUE(has(text, R"(plimsoll_process_pss_bytes{pid="150",name="p",role="main"} 500)"));
  EXPECT_TRUE(
      has(text, R"(plimsoll_process_pss_bytes{pid="",name="other",role=""} 4650)"));  // 10 * (1 + … + 30)
}

TEST(Current, FollowsTheGuard) {
  RunTail::News news;
  news.memory = {memory(1, 10, 0)};
  EXPECT_EQ(metrics_text(current_of(news)).find("plimsoll_guard_level"), std::string::npos);
  news.events = {{1, "guard", "warn: 81 % used"}, {2, "guard", "pause: SIGSTOP"}, {3, "note", "ok: nothing"}};
  EXPECT_TRUE(has(metrics_text(current_of(news)), "plimsoll_guard_level 3"));
}

TEST(Current, ALeakIsFollowedAndTheFinalVerdictReplacesIt) {
  RunTail::News news;
  for (int i = 0; i < 3000; ++i) news.memory.push_back(memory(i, 1'000'000 + 5000 * i, 0));
  Current current = current_of(news);
  EXPECT_EQ(current.verdict().kind, verdict::Kind::leak);
  EXPECT_NEAR(current.verdict().rate, 5000, 500);
  RunTail::News end;
  end.verdicts = {{3000, R"({"verdict":"no-leak","rate_bytes_per_second":1.0,"sentence":"fine"})"}};
  current.take(end);
  EXPECT_TRUE(current.ended());
  EXPECT_EQ(current.verdict().kind, verdict::Kind::no_leak);
  RunTail::News resumed;
  resumed.memory = {memory(3001, 10, 0)};
  current.take(resumed);
  EXPECT_FALSE(current.ended());
}

}  // namespace
}  // namespace plimsoll::live
