#include "record/run_tail.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "record/folder.hpp"
#include "record/run_record.hpp"

namespace plimsoll {
namespace {

TEST(RunTail, GivesEveryRowOnceAndNothingWhereNothingChanged) {
  test::Folder folder;
  RunRecord record = RunRecord::create(folder.path / "run.db", {.kind = RunKind::watch});
  record.phase("train");
  record.memory({.time = 1, .step = 4, .rss = 100, .pss = 70});
  record.commit();
  RunTail tail(folder.path / "run.db");
  RunTail::News news = tail.next();
  ASSERT_EQ(news.memory.size(), 1u);
  EXPECT_EQ(news.memory[0].pss, 70);
  EXPECT_EQ(news.memory[0].step, 4);
  EXPECT_EQ(news.memory[0].phase, "train");
  EXPECT_EQ(news.rows, 2u);
  EXPECT_EQ(tail.next().rows, 0u);

  for (int i = 0; i < 10; ++i) record.step({.step = i, .time = 2.0 + i, .loss = 0.5 * i});
  record.evaluation({.step = 9, .loss = 3});
  record.event("note", "later");
  record.verdict("{}");
  EXPECT_EQ(tail.next().rows, 0u);  // not committed yet
  record.commit();
  // A bound on the rows gives them in parts, none twice and none left out.
  std::vector<int64_t> steps;
  size_t evaluations = 0, events = 0, verdicts = 0;
  while ((news = tail.next(3)).rows > 0) {
    EXPECT_LE(news.steps.size(), 3u);
    for (const StepRow& row : news.steps) steps.push_back(row.step);
    evaluations += news.evaluations.size(), events += news.events.size(), verdicts += news.verdicts.size();
  }
  EXPECT_EQ(steps, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(evaluations, 1u);
  EXPECT_EQ(events, 1u);
  EXPECT_EQ(verdicts, 1u);
}

TEST(RunTail, TellsOfProcessesThatEndOrChangeTheirRole) {
  test::Folder folder;
  RunRecord record = RunRecord::create(folder.path / "run.db", {.kind = RunKind::watch});
  const int64_t one = record.process({.pid = 10, .start_time = 5, .name = "one"});
  const int64_t two = record.process({.pid = 11, .start_time = 6, .parent = one, .name = "two"});
  record.process_sample({.process = two, .time = 1, .rss = 9});
  record.commit();
  RunTail tail(folder.path / "run.db");
  EXPECT_EQ(tail.next().processes.size(), 2u);

  record.process_role(two, "main");
  record.commit();
  auto processes = tail.next().processes;
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_EQ(processes[0].role, "main");
  EXPECT_EQ(processes[0].parent, one);

  record.process_ended(one, 7);
  record.process({.pid = 12, .start_time = 8, .name = "three"});
  record.commit();
  processes = tail.next().processes;
  ASSERT_EQ(processes.size(), 2u);
  EXPECT_EQ(processes[0].ended, 7);
  EXPECT_EQ(processes[1].name, "three");
}

TEST(RunTail, RefusesWhatIsNoRunFile) {
  test::Folder folder;
  EXPECT_THROW(RunTail(folder.path / "none.db"), Error);
}

}  // namespace
}  // namespace plimsoll
