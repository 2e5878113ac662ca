#include "record/database.hpp"

#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "record/sqlite_heap.hpp"

namespace plimsoll {

namespace {
// A damaged file is bad input; all else went wrong here.
[[noreturn]] void fail_with(sqlite3* database, const char* sql) {
  const int code = sqlite3_errcode(database) & 0xff;
  if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
    fail_input("[record] {} is damaged: {}", sqlite3_db_filename(database, nullptr),
               sqlite3_errmsg(database));
  fail("[record] {} in: {}", sqlite3_errmsg(database), sql);
}
}  // namespace

Statement::Statement(sqlite3* database, const char* sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK)
    fail_with(database, sql);
  statement_.reset(statement);
}

Statement& Statement::integer(int64_t value) noexcept {
  sqlite3_bind_int64(statement_.get(), next_++, value);
  return *this;
}

Statement& Statement::real(double value) noexcept {
  sqlite3_bind_double(statement_.get(), next_++, value);  // SQLite itself stores a NaN as NULL
  return *this;
}

Statement& Statement::text(std::string_view value) noexcept {
  const char* data = value.data() ? value.data() : "";
  sqlite3_bind_text(statement_.get(), next_++, data, static_cast<int>(value.size()), SQLITE_STATIC);
  return *this;
}

Statement& Statement::null() noexcept {
  sqlite3_bind_null(statement_.get(), next_++);
  return *this;
}

int Statement::run() noexcept {
  while (row()) {
  }
  return done();
}

bool Statement::row() noexcept {
  const int result = sqlite3_step(statement_.get());
  result_ = result == SQLITE_ROW || result == SQLITE_DONE ? SQLITE_OK : result;
  return result == SQLITE_ROW;
}

int Statement::done() noexcept {
  sqlite3_reset(statement_.get());
  next_ = 1;
  return result_;
}

int64_t Statement::integer_at(int column) const noexcept {
  return sqlite3_column_int64(statement_.get(), column);
}

bool Statement::null_at(int column) const noexcept {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

int64_t Statement::count_at(int column) const noexcept { return null_at(column) ? -1 : integer_at(column); }

double Statement::real_at(int column) const noexcept {
  return null_at(column) ? std::numeric_limits<double>::quiet_NaN()
                         : sqlite3_column_double(statement_.get(), column);
}

std::string Statement::text_at(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  return text ? std::string(text, static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column)))
              : std::string();
}

Database open_database(const std::filesystem::path& path, int flags) {
  install_sqlite_heap();
  sqlite3* raw = nullptr;
  const int result = sqlite3_open_v2(path.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(raw);
  if (result != SQLITE_OK)
    fail_input("[record] cannot open {}: {}; check that the folder exists and is writable", path.string(),
               raw ? sqlite3_errmsg(raw) : sqlite3_errstr(result));
  sqlite3_extended_result_codes(raw, 1);
  sqlite3_busy_timeout(raw, 2000);
  return database;
}

void execute(sqlite3* database, const char* sql) {
  if (sqlite3_exec(database, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail_with(database, sql);
}

int64_t query_integer(sqlite3* database, const char* sql) {
  Statement statement(database, sql);
  const int64_t value = statement.row() ? statement.integer_at(0) : 0;
  if (statement.done() != SQLITE_OK) fail_with(database, sql);
  return value;
}

bool has_column(sqlite3* database, const char* table, const char* column) {
  return sqlite3_table_column_metadata(database, nullptr, table, column, nullptr, nullptr, nullptr, nullptr,
                                       nullptr) == SQLITE_OK;
}

}  // namespace plimsoll
