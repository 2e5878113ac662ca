// A thin layer over SQLite: a connection that closes itself and statements that are prepared once. Used only
// inside this room.
#pragma once
#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace plimsoll {

class Statement {
 public:
  Statement() = default;
  Statement(sqlite3* database, const char* sql);  // fails with SQLite's message

  // Binds in order; a negative count and a NaN are NULL.
  Statement& integer(int64_t value) noexcept;
  Statement& count(int64_t value) noexcept { return value < 0 ? null() : integer(value); }
  Statement& real(double value) noexcept;
  Statement& text(std::string_view value) noexcept;  // not copied: must live until run() or done()
  Statement& null() noexcept;

  // For statements without a result: SQLITE_OK, or the error.
  int run() noexcept;
  // For queries: true while there is a row; then done() gives SQLITE_OK or the error.
  bool row() noexcept;
  int done() noexcept;

  int64_t integer_at(int column) const noexcept;
  int64_t count_at(int column) const noexcept;  // NULL: -1
  double real_at(int column) const noexcept;    // NULL: NaN
  std::string text_at(int column) const;
  bool null_at(int column) const noexcept;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int next_ = 1;
  int result_ = SQLITE_OK;
};

struct CloseDatabase {
  void operator()(sqlite3* database) const noexcept { sqlite3_close_v2(database); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

// Opens with SQLITE_OPEN_… flags; InputError naming the path if that fails. Installs the fixed heap first.
Database open_database(const std::filesystem::path& path, int flags);
// A run file for reading, finished or being written; InputError if `path` is none this version can read.
Database open_run_file(const std::filesystem::path& path);
void execute(sqlite3* database, const char* sql);  // fails with SQLite's message
int64_t query_integer(sqlite3* database, const char* sql);
bool has_column(sqlite3* database, const char* table, const char* column);

}  // namespace plimsoll
