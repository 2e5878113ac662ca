#include "diagnose/recorded_run.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "base/error.hpp"
#include "diagnose/judgement.hpp"
#include "record/folder.hpp"
#include "record/run_record.hpp"

namespace plimsoll::diagnose {
namespace {

// A watch of ten minutes: a wrapper, and a server that loses 100 kB a step and needs half as much again while
// it validates.
void record_watch(const std::filesystem::path& path, const char* told = "{}") {
  RunRecord record = RunRecord::create(path, {.kind = RunKind::watch});
  const int64_t wrapper = record.process({.pid = 10, .start_time = 1, .first_seen = 0, .name = "uv"});
  const int64_t server =
      record.process({.pid = 11, .start_time = 2, .parent = wrapper, .first_seen = 0, .name = "server"});
  record.process_sample({.process = wrapper, .time = 0, .rss = 20'000'000, .pss = 20'000'000, .cpu = 0});
  for (int t = 0; t < 600; ++t) {
    const bool validates = t % 60 >= 54;
    if (t % 60 == 0) record.phase("train", t);
    if (t % 60 == 54) record.phase("validate", t);
    const int64_t bytes = 600'000'000 + t * 500'000 + (validates ? 300'000'000 : 0) + t * 7919 % 400'000;
    record.step({.step = 5 * t, .time = double(t)});
    record.memory({.time = double(t), .rss = 2 * bytes, .pss = bytes + 20'000'000, .limit = 4'000'000'000});
    record.process_sample(
        {.process = server, .time = double(t), .rss = bytes, .pss = bytes, .cpu = double(t)});
  }
  // The program ends: the last samples are no part of the verdict.
  record.verdict(told, 599);
  record.memory({.time = 600, .rss = 1'000'000, .pss = 1'000'000});
}

TEST(RecordedRun, IsJudgedAsItWasWatched) {
  test::Folder folder;
  record_watch(folder.path / "run.db");
  ASSERT_TRUE(is_run_file((folder.path / "run.db").string()));
  const RecordedRun run = read_run((folder.path / "run.db").string());
  EXPECT_EQ(run.limit, 4e9);
  EXPECT_EQ(run.until, 599);
  EXPECT_EQ(run.history.processes().size(), 2u);
  const Judgement found =
      judge_tree(run.tree, run.history,
                 {.limit_bytes = run.limit, .steps = run.steps.marks(), .phases = run.phases}, run.until);
  ASSERT_EQ(found.verdict.kind, verdict::Kind::leak) << found.verdict.sentence;
  EXPECT_NEAR(found.verdict.rate, 500e3, 25e3);
  ASSERT_TRUE(found.verdict.rate_per_step);
  EXPECT_NEAR(*found.verdict.rate_per_step, 100e3, 5e3);
  EXPECT_EQ(found.verdict.spikes.count, 10u);
  EXPECT_EQ(found.verdict.spikes.phase, "validate");
  ASSERT_TRUE(found.culprit);
  EXPECT_EQ(found.culprit->pid, 11);
  EXPECT_GT(found.culprit->share, .9);
}

// The lines of a profiled run knew what the memory alone does not tell.
TEST(RecordedRun, OfAProfiledRunWhatItSaidAtItsEndCounts) {
  test::Folder folder;
  const std::string path = (folder.path / "run.db").string();
  record_watch(
      path,
      R"({"verdict":"no-leak","sentence":"No leak: kept\u001b by the allocator.","answer":"retained"})");
  const RecordedRun run = read_run(path);
  const Judgement found = judge_run(run);
  EXPECT_EQ(found.verdict.kind, verdict::Kind::no_leak);
  EXPECT_EQ(found.verdict.sentence, "No leak: kept\\x1b by the allocator.");
  EXPECT_FALSE(found.culprit);
  EXPECT_TRUE(found.next.empty());
  EXPECT_EQ(judge_run(run, 16e9).verdict.kind, verdict::Kind::no_leak);
}

TEST(RecordedRun, ALeakThatAProfiledRunNamedKeepsItsCulpritAndAdvice) {
  test::Folder folder;
  const std::string path = (folder.path / "run.db").string();
  record_watch(path, R"({"verdict":"leak","sentence":"Leak: it grows.","answer":"leak",
                         "culprit":{"pid":11,"name":"server","role":"main","share":1},"next":"look at a.py:5"})");
  const RecordedRun run = read_run(path);
  const Judgement found = judge_run(run);
  EXPECT_EQ(found.verdict.sentence, "Leak: it grows.");
  EXPECT_EQ(found.next, "look at a.py:5");
  ASSERT_TRUE(found.culprit);
  EXPECT_EQ(found.culprit->share, 1);
  EXPECT_EQ(found.culprit_id.pid, 11);
  EXPECT_EQ(found.culprit_id.start_ticks, 2u);
  // A line of one's own is told about with what the memory says.
  EXPECT_EQ(judge_run(run, 16e9).verdict.limit_bytes, 16e9);
  EXPECT_TRUE(judge_run(run, 16e9).verdict.seconds_to_limit);
  EXPECT_EQ(judge_run(run, 16e9).next, "look at a.py:5");
}

TEST(RecordedRun, AWatchThatHadNoLinesIsJudgedAnew) {
  test::Folder folder;
  const std::string path = (folder.path / "run.db").string();
  for (const char* told :
       {R"({"verdict":"no-leak","sentence":"No leak."})", R"({"answer":"retained"})", "[1"}) {
    std::filesystem::remove(path);
    record_watch(path, told);
    EXPECT_EQ(judge_run(read_run(path)).verdict.kind, verdict::Kind::leak) << told;
  }
}

TEST(RecordedRun, OfAResumedRunTheLastSessionCounts) {
  test::Folder folder;
  const auto path = folder.path / "run.db";
  {
    RunRecord record = RunRecord::create(path, {.kind = RunKind::train});
    for (int t = 0; t < 50; ++t) record.memory({.time = double(t), .step = t, .rss = 1'000'000});
    record.step({.step = 50, .time = 50});
  }
  {
    RunRecord record = RunRecord::resume(path, {.kind = RunKind::train}, 50);
    for (int t = 60; t < 160; ++t) record.memory({.time = double(t), .step = t, .rss = 2'000'000});
  }
  const RecordedRun run = read_run(path.string());
  EXPECT_EQ(run.tree.values(), 100u);
  EXPECT_TRUE(run.history.processes().empty());
  EXPECT_EQ(judge_tree(run.tree, run.history, {}, run.until).verdict.kind, verdict::Kind::no_leak);
}

TEST(RecordedRun, RefusesWhatIsNone) {
  test::Folder folder;
  const auto text = folder.path / "a.csv", empty = folder.path / "empty.db";
  std::ofstream(text) << "0,1\n1,2\n";
  EXPECT_FALSE(is_run_file(text.string()));
  EXPECT_FALSE(is_run_file((folder.path / "none").string()));
  RunRecord::create(empty, {.kind = RunKind::watch});
  EXPECT_THROW(read_run(empty.string()), InputError);
}

}  // namespace
}  // namespace plimsoll::diagnose
