// Run files made to harm their reader: each is refused in one line, after bounded work.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <fstream>
#include <vector>

#include "base/error.hpp"
#include "record/folder.hpp"
#include "record/run_reader.hpp"
#include "record/run_record.hpp"
#include "record/run_tail.hpp"

namespace plimsoll {
namespace {

// A run file in one piece (no log beside it) after `sql` was run on it.
std::filesystem::path made_by(const test::Folder& folder, const std::string& sql) {
  const auto path = folder.path / "run.db";
  {
    RunRecord record = RunRecord::create(path, {});
    record.step({.step = 1, .time = 1, .loss = 2});
    record.memory({.time = 1, .rss = 10});
  }
  sqlite3* database = nullptr;
  EXPECT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  EXPECT_EQ(
      sqlite3_exec(database, ("PRAGMA journal_mode = DELETE;" + sql).c_str(), nullptr, nullptr, nullptr),
      SQLITE_OK)
      << sqlite3_errmsg(database);
  sqlite3_close(database);
  return path;
}

template <typename Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

struct Case {
  const char *sql, *said;
};

TEST(Untrusted, OnlyTablesAreAcceptedAndTheyMustBeOurs) {
  for (const Case& one : {
           Case{"DROP TABLE steps; CREATE VIEW steps AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT "
                "id + 1 FROM n) SELECT id, id AS step, 1.0 AS time, 2.0 AS loss FROM n",
                "a view 'steps'"},
           Case{"CREATE TRIGGER grow AFTER INSERT ON steps BEGIN DELETE FROM memory; END",
                "a trigger 'grow'"},
           Case{"CREATE VIRTUAL TABLE other USING fts5(text)", "a virtual table 'other'"},
           Case{"ALTER TABLE steps DROP COLUMN time", "the table steps has no column 'time'"},
           Case{"DROP TABLE memory", "the table memory has no column 'time'"},
       }) {
    test::Folder folder;
    const auto path = made_by(folder, one.sql);
    for (const std::string& said : {refusal([&] { RunReader{path}; }), refusal([&] { RunTail{path}; }),
                                    refusal([&] { RunRecord::resume(path, {}, 1); })})
      EXPECT_NE(said.find(one.said), said.npos) << one.sql << " -> " << said;
  }
  test::Folder folder;
  EXPECT_EQ(RunReader(made_by(folder, "DROP TABLE sites; CREATE INDEX i ON steps (time)")).steps().size(),
            1u);
}

using Bytes = std::vector<unsigned char>;
constexpr size_t page_bytes = 4096;

void put(Bytes& file, size_t at, uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) file[at + size_t(i)] = (unsigned char)(value >> 8 * (bytes - 1 - i));
}

// An inner page of a table whose children are all the same page.
void inner_page(Bytes& file, uint32_t page, uint32_t child) {
  constexpr uint32_t cells = 400;
  const size_t base = (page - 1) * page_bytes;
  std::fill_n(file.begin() + ptrdiff_t(base), page_bytes, 0);
  file[base] = 5;
  put(file, base + 3, cells, 2);
  put(file, base + 5, page_bytes - cells * 5, 2);
  put(file, base + 8, child, 4);
  for (uint32_t i = 0; i < cells; ++i) {
    const uint32_t cell = uint32_t(page_bytes) - 5 * (i + 1);
    put(file, base + 12 + 2 * i, cell, 2);
    put(file, base + cell, child, 4);
    file[base + cell + 4] = 1;
  }
}

// Six pages, each the child of the one before 401 times over: 10^15 rows in a hundred kilobytes.
TEST(Untrusted, ATreeThatReachesItsPagesOverAndOverIsRefused) {
  test::Folder folder;
  const auto path = made_by(folder, "");
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(database, "SELECT rootpage FROM sqlite_master WHERE name = 'steps'", -1, &statement,
                     nullptr);
  ASSERT_EQ(sqlite3_step(statement), SQLITE_ROW);
  const auto root = uint32_t(sqlite3_column_int64(statement, 0));
  sqlite3_finalize(statement);
  sqlite3_close(database);
  std::ifstream in(path, std::ios::binary);
  Bytes file{std::istreambuf_iterator<char>(in), {}};
  const auto pages = uint32_t(file.size() / page_bytes);
  file.resize(file.size() + 6 * page_bytes);
  std::copy_n(file.begin() + ptrdiff_t((root - 1) * page_bytes), page_bytes,
              file.begin() + ptrdiff_t((pages + 5) * page_bytes));  // the leaf with its row
  inner_page(file, root, pages + 1);
  for (uint32_t i = 1; i <= 5; ++i) inner_page(file, pages + i, pages + i + 1);
  put(file, 28, pages + 6, 4);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()), ptrdiff_t(file.size()));

  const std::string said = refusal([&] { RunReader(path).steps(); });
  EXPECT_NE(said.find("more rows than a file of its size can"), said.npos) << said;
}

}  // namespace
}  // namespace plimsoll
