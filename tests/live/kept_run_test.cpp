#include "live/kept_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "record/folder.hpp"
#include "record/run_record.hpp"

namespace plimsoll::live {
namespace {

struct Fixture {
  test::Folder folder;
  RunRecord record = RunRecord::create(folder.path / "run.db", {.kind = RunKind::watch});
  RunReader reader{folder.path / "run.db"};
  KeptRun kept{reader, "run.db"};
};

RunReader::Memory memory(double time, int64_t pss) {
  RunReader::Memory row;
  row.time = time, row.pss = pss, row.rss = 2 * pss;
  return row;
}

RunReader::Process process(int64_t id, double ended) {
  RunReader::Process row;
  row.id = row.pid = id, row.name = "p", row.ended = ended;
  return row;
}

TEST(KeptRun, StaysBoundedAndKeepsExtremes) {
  Fixture fixture;
  for (int batch = 0; batch < 100; ++batch) {
    RunTail::News news;
    for (int i = 0; i < 1000; ++i) {
      const int at = 1000 * batch + i;
      news.memory.push_back(memory(at, at == 33'333 ? 9'000'000 : at == 44'444 ? 5 : 1000 + at % 7));
      news.steps.push_back({.step = at, .time = double(at), .loss = at == 55'555 ? 99.0 : 1.0});
    }
    news.processes.push_back(process(batch + 1, 1000.0 * batch + 999));
    for (int i = 0; i < 1000; ++i)
      news.samples.push_back({.process = batch + 1, .time = 1000.0 * batch + i, .pss = i == 500 ? 777 : 10});
    fixture.kept.take(news);
  }
  const report::RunData& data = fixture.kept.data();
  EXPECT_LE(data.memory.size(), KeptRun::most_rows);
  EXPECT_LE(data.steps.size(), KeptRun::most_rows);
  EXPECT_LE(data.samples.size(), KeptRun::most_samples);
  const auto [low, high] = std::minmax_element(data.memory.begin(), data.memory.end(),
                                               [](auto& a, auto& b) { return a.pss < b.pss; });
  EXPECT_EQ(low->pss, 5);
  EXPECT_EQ(high->pss, 9'000'000);
  EXPECT_TRUE(std::any_of(data.steps.begin(), data.steps.end(), [](auto& row) { return row.loss == 99; }));
  EXPECT_EQ(std::count_if(data.samples.begin(), data.samples.end(), [](auto& row) { return row.pss == 777; }),
            100);
  EXPECT_TRUE(std::is_sorted(data.memory.begin(), data.memory.end(),
                             [](auto& a, auto& b) { return a.time < b.time; }));
}

TEST(KeptRun, ManyProcessesAreForgottenAgain) {
  Fixture fixture;
  for (int64_t id = 1; id <= 5000; ++id) {
    RunTail::News news;
    news.memory = {memory(double(id), 10)};
    news.processes = {process(id, id > 1 ? double(id) : unknown_real)};
    news.samples = {{.process = id, .time = double(id), .pss = 3}};
    fixture.kept.take(news);
  }
  EXPECT_LE(fixture.kept.data().processes.size(), KeptRun::most_processes);
  EXPECT_EQ(fixture.kept.data().processes.front().id, 1);  // alive
  EXPECT_EQ(fixture.kept.data().processes.back().id, 5000);
}

TEST(KeptRun, AnIncrementHoldsWhatAProcessHadBefore) {
  Fixture fixture;
  RunTail::News first;
  first.memory = {memory(1, 10)};
  first.processes = {process(1, unknown_real), process(2, unknown_real)};
  first.samples = {{.process = 1, .time = 1, .pss = 6}, {.process = 2, .time = 1, .pss = 4}};
  fixture.kept.take(first);
  RunTail::News second;
  second.memory = {memory(2, 6)};
  second.processes = {process(2, 1.5)};
  const report::RunData more = fixture.kept.take(second);
  ASSERT_EQ(more.processes.size(), 2u);
  EXPECT_EQ(more.processes[1].ended, 1.5);
  const auto held =
      std::find_if(more.samples.begin(), more.samples.end(), [](auto& row) { return row.process == 1; });
  ASSERT_NE(held, more.samples.end());
  EXPECT_EQ(held->pss, 6);
  EXPECT_EQ(held->time, 2);
  RunTail::News third;
  third.memory = {memory(3, 6)};
  EXPECT_EQ(fixture.kept.take(third).processes.size(), 1u);  // what has ended is told once
}

// What is said at an evaluation comes with the next news, and the page gets the whole strip in the place of the one it has.
TEST(KeptRun, PicturesAndAnswersAreFollowed) {
  Fixture fixture;
  RunTail tail(fixture.folder.path / "run.db");
  fixture.kept.take(tail.next());
  fixture.record.picture({.number = 0, .name = "a.png", .question = "what?", .answer = "cat"});
  fixture.record.picture({.number = 1, .name = "b.png", .question = "what?", .answer = "dog"});
  fixture.record.answer({.step = 10, .picture = 0, .text = "car"});
  fixture.record.commit();
  const report::RunData first = fixture.kept.take(tail.next());
  EXPECT_EQ(first.pictures.size(), 2u);
  EXPECT_EQ(first.answers.size(), 1u);
  fixture.record.answer({.step = 20, .picture = 0, .text = "cat"});
  fixture.record.commit();
  const report::RunData second = fixture.kept.take(tail.next());
  EXPECT_EQ(second.pictures.size(), 2u);
  ASSERT_EQ(second.answers.size(), 2u);
  EXPECT_EQ(second.answers[1].text, "cat");
  fixture.record.clear_pictures();  // as a resumed run does
  fixture.record.picture({.number = 0, .name = "c.png", .question = "what?", .answer = "cow"});
  fixture.record.answer({.step = 30, .picture = 0, .text = "cow"});
  fixture.record.commit();
  const report::RunData third = fixture.kept.take(tail.next());
  ASSERT_EQ(third.pictures.size(), 1u);
  EXPECT_EQ(third.pictures[0].name, "c.png");
  EXPECT_EQ(fixture.kept.data().pictures.size(), 1u);
  fixture.record.step({.step = 21, .time = 3, .loss = 1});
  fixture.record.commit();
  EXPECT_TRUE(fixture.kept.take(tail.next()).pictures.empty()) << "only what is new is sent";
}

}  // namespace
}  // namespace plimsoll::live
