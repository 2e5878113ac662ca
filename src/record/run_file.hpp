// A run file opened for reading, finished or being written. Nothing in it is trusted: it must consist of
// tables alone, and reading it may cost no more than its size allows, so that a crafted file ends in a
// refusal and not in a loop. Inside the record room only.
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "record/statements.hpp"

namespace plimsoll {

// InputError unless the file holds tables and their indexes only, and those of tables.hpp with every column
// they must have.
void check_tables(sqlite3* database, const std::string& path);

class RunFile {
 public:
  // InputError if `path` is not a run file this version can read.
  explicit RunFile(const std::filesystem::path& path);

  sqlite3* get() const { return database_.get(); }
  bool has_table(const char* name) const;

  // Calls `take` with each row of a query made beforehand; the number of rows. InputError where the file turns
  // out to be damaged, or to hold more than it has room for.
  template <typename Row, typename Take>
  size_t each(Select<Row>& select, Take take) const {
    size_t rows = 0;
    allow_a_pass();
    Statement& statement = select.statement();
    while (statement.row()) {
      spend_text(statement, int(column_count<Row>) + 1);
      take(select.id(), select.row());
      ++rows;
    }
    check(statement.done());
    return rows;
  }
  // All rows, or those for which `rest` (after FROM) asks; `parameter` is bound where it has a place for one.
  template <typename Row>
  std::vector<Row> all(const char* rest = "", const int64_t* parameter = nullptr) const {
    std::vector<Row> rows;
    if (Table<Row>::later && !has_table(Table<Row>::name)) return rows;
    Select<Row> select(get(), rest);
    if (parameter) select.statement().integer(*parameter);
    each(select, [&](int64_t, Row row) { rows.push_back(std::move(row)); });
    return rows;
  }
  // The name of a phase; empty where the file has none. Not while a query is under way.
  const std::string& phase_name(int64_t id) const;

 private:
  // What one pass over a table may still cost.
  struct Allowance {
    int64_t ticks = 0;  // of the progress handler
    int64_t text = 0;   // bytes
  };
  static int tick(void* allowance);
  void allow_a_pass() const;
  void spend_text(const Statement& statement, int columns) const;
  void check(int result) const;
  [[noreturn]] void refuse_work() const;

  std::string path_;
  std::unique_ptr<Allowance> allowance_;  // outlives the database, which calls back into it
  Database database_;
  mutable std::map<int64_t, std::string> phase_names_;
};

}  // namespace plimsoll
