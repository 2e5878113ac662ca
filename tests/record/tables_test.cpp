// The one list of columns: what is written by it is read by it, by the reader and by the tail.
#include "record/tables.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "record/folder.hpp"
#include "record/run_reader.hpp"
#include "record/run_record.hpp"
#include "record/run_tail.hpp"
#include "record/statements.hpp"

namespace plimsoll {
namespace {

// Another value for every field, so that a mix-up of two columns shows.
template <typename Row>
Row distinct() {
  Row row{};
  if constexpr (OwnId<Row>) row.id = 7;
  int next = 100;
  for_each_column<Row>([&]<typename Field>(const Column<Row, Field>& column) {
    ++next;
    if constexpr (std::is_same_v<Field, bool>)
      row.*column.field = true;
    else if constexpr (std::is_same_v<Field, double>)
      row.*column.field = next + .5;
    else if constexpr (std::is_same_v<Field, int64_t>)
      row.*column.field = next;
    else
      row.*column.field = column.name;  // a text of its own
  });
  return row;
}

template <typename Row>
void expect_same(const Row& read, const Row& written) {
  for_each_column<Row>([&](const auto& column) {
    EXPECT_EQ(read.*column.field, written.*column.field) << Table<Row>::name << '.' << column.name;
  });
}

TEST(Tables, EveryColumnComesBackFromItsOwnField) {
  test::Folder folder;
  const Database database =
      open_database(folder.path / "plain.db", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  std::set<std::string> tables;
  for_each_table<std::string>([&]<typename Row>() {
    EXPECT_TRUE(tables.insert(Table<Row>::name).second);
    std::set<std::string> names;
    for_each_column<Row>([&](const auto& column) { EXPECT_TRUE(names.insert(column.name).second); });
    execute(database.get(), create_sql<Row>().c_str());
    const Row written = distinct<Row>();
    ASSERT_EQ(Insert<Row>(database.get())(written), SQLITE_OK);
    Select<Row> select(database.get(), "");
    ASSERT_TRUE(select.statement().row());
    expect_same(select.row(), written);
    if constexpr (OwnId<Row>) {
      EXPECT_EQ(select.id(), written.id);
    }
    EXPECT_FALSE(select.statement().row());
  });
  EXPECT_EQ(tables.size(), 17u);
}

// A reader of a run that goes on must see what a reader of the finished run sees.
TEST(Tables, TheTailGivesWhatTheReaderGives) {
  test::Folder folder;
  const auto path = folder.path / "run.db";
  RunRecord record = RunRecord::create(path, {});
  record.phase("train", 1);
  record.step(distinct<StepRow>());
  record.evaluation(distinct<EvaluationRow>());
  record.memory(distinct<MemoryRow>());
  record.process(distinct<ProcessRow>());
  record.process_sample(distinct<ProcessSampleRow>());
  record.event("kind", "text", 3);
  record.verdict("{}", 4);
  record.commit();
  const RunTail::News news = RunTail(path).next();
  const RunReader reader(path);
  const auto same = [](const auto& tail, const auto& all) {
    ASSERT_EQ(tail.size(), 1u);
    ASSERT_EQ(all.size(), 1u);
    expect_same(tail[0], all[0]);
  };
  same(news.steps, reader.steps());
  same(news.evaluations, reader.evaluations());
  same(news.processes, reader.processes());
  same(news.samples, reader.process_samples());
  same(news.events, reader.events());
  same(news.verdicts, reader.verdicts());
  expect_same(news.steps[0], distinct<StepRow>());
  ASSERT_EQ(news.memory.size(), 1u);
  expect_same<MemoryRow>(news.memory[0], reader.memory().at(0));
  EXPECT_EQ(news.memory[0].phase, "train");
  EXPECT_EQ(news.phases.at(0).name, "train");
}

}  // namespace
}  // namespace plimsoll
