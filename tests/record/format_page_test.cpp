// docs/formats/run-db.md shows exactly the tables of the file.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "record/folder.hpp"
#include "record/run_record.hpp"
#include "record/schema.hpp"

namespace plimsoll {

namespace {
std::string one_space(const std::string& text) {
  std::istringstream words(text);
  std::string all, word;
  while (words >> word) all += (all.empty() ? "" : " ") + word;
  return all;
}
}  // namespace

TEST(RunFormatPage, ShowsExactlyTheTablesOfTheFile) {
  std::ifstream file(PLIMSOLL_SOURCE_DIR "/docs/formats/run-db.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  std::set<std::string> shown;
  for (size_t at = page.find("CREATE "); at != std::string::npos; at = page.find("CREATE ", at + 1))
    shown.insert(one_space(page.substr(at, page.find(';', at) - at)));

  test::Folder folder;
  const auto path = folder.path / "run.db";
  { RunRecord::create(path, {}); }
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(database, "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL", -1, &statement,
                     nullptr);
  std::set<std::string> real;
  while (sqlite3_step(statement) == SQLITE_ROW)
    real.insert(one_space(reinterpret_cast<const char*>(sqlite3_column_text(statement, 0))));
  sqlite3_finalize(statement);
  sqlite3_close(database);
  EXPECT_EQ(shown, real);
  EXPECT_NE(page.find(fmt::format("`{:#010x}`", run_application_id)), std::string::npos);
  EXPECT_NE(page.find(fmt::format("`PRAGMA user_version` = {};", run_format_version)), std::string::npos);
}

}  // namespace plimsoll
