// Statements on the tables of tables.hpp: the SQL is made from the list of columns, and rows are bound to it
// and read from it by the same list.
#pragma once
#include <type_traits>

#include "record/database.hpp"
#include "record/tables.hpp"

namespace plimsoll {

template <typename Row>
concept OwnId = requires(Row row) {
  row.id;
};

template <typename Field>
constexpr const char* sql_type() {
  if constexpr (std::is_same_v<Field, double>)
    return "REAL";
  else if constexpr (std::is_same_v<Field, int64_t> || std::is_same_v<Field, bool>)
    return "INTEGER";
  else
    return "TEXT";
}

template <typename Row, typename Field>
std::string definition_of(const Column<Row, Field>& column) {
  std::string sql = std::string(column.name) + " " + sql_type<Field>();
  if (*column.constraint) sql += std::string(" ") + column.constraint;
  return sql;
}

template <typename Row>
std::string create_sql() {
  using Of = Table<Row>;
  std::string columns = Of::numbering == Numbering::by_id ? "id INTEGER PRIMARY KEY" : "";
  for_each_column<Row>([&](const auto& column) {
    if (!columns.empty()) columns += ", ";
    columns += definition_of(column);
  });
  return std::string("CREATE TABLE ") + Of::name + " (" + columns + ")" +
         (Of::numbering == Numbering::by_key ? " WITHOUT ROWID" : "");
}

// Adds rows; allocates nothing once it is made.
template <typename Row>
class Insert {
 public:
  Insert() = default;
  // `verb` is INSERT, or how SQL spells what happens where the key is there already.
  explicit Insert(sqlite3* database, const char* verb = "INSERT") {
    std::string names = OwnId<Row> ? "id" : "", places = OwnId<Row> ? "?" : "";
    for_each_column<Row>([&](const auto& column) {
      names += (names.empty() ? "" : ", ") + std::string(column.name);
      places += places.empty() ? "?" : ", ?";
    });
    const std::string sql =
        std::string(verb) + " INTO " + Table<Row>::name + " (" + names + ") VALUES (" + places + ")";
    statement_ = Statement(database, sql.c_str());
  }

  // SQLITE_OK or the error. A count that is not known is NULL only where the column allows it.
  int operator()(const Row& row) noexcept {
    if constexpr (OwnId<Row>) statement_.integer(row.id);
    for_each_column<Row>([&]<typename Field>(const Column<Row, Field>& column) {
      const Field& value = row.*column.field;
      if constexpr (std::is_same_v<Field, double>)
        statement_.real(value);
      else if constexpr (std::is_same_v<Field, bool>)
        statement_.integer(value);
      else if constexpr (std::is_same_v<Field, int64_t>)
        *column.constraint ? statement_.integer(value) : statement_.count(value);
      else
        statement_.text(value);
    });
    return statement_.run();
  }

 private:
  Statement statement_;
};

// Reads the rows of a table: its id (0 where it has none), then its columns. A column that the file is too old
// to have is read as not known; `rest` is what follows FROM.
template <typename Row>
class Select {
 public:
  Select(sqlite3* database, const char* rest) {
    std::string sql = Table<Row>::numbering == Numbering::by_id ? "SELECT id" : "SELECT 0";
    for_each_column<Row>([&](const auto& column) {
      sql += ", ";
      sql += has_column(database, Table<Row>::name, column.name) ? column.name : "NULL";
    });
    sql += std::string(" FROM ") + Table<Row>::name + " " + rest;
    statement_ = Statement(database, sql.c_str());
  }

  Statement& statement() { return statement_; }
  int64_t id() const { return statement_.integer_at(0); }
  Row row() const {
    Row row;
    if constexpr (OwnId<Row>) row.id = id();
    int at = 1;
    for_each_column<Row>([&]<typename Field>(const Column<Row, Field>& column) {
      Field& value = row.*column.field;
      if constexpr (std::is_same_v<Field, double>)
        value = statement_.real_at(at);
      else if constexpr (std::is_same_v<Field, bool>)
        value = statement_.integer_at(at) != 0;
      else if constexpr (std::is_same_v<Field, int64_t>)
        value = *column.constraint ? statement_.integer_at(at) : statement_.count_at(at);
      else {
        static_assert(std::is_same_v<Field, std::string>, "what is read must own its text");
        value = statement_.text_at(at);
      }
      ++at;
    });
    return row;
  }

 private:
  Statement statement_;
};

}  // namespace plimsoll
