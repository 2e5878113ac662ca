// docs/formats/checkpoint.md lists exactly the files and fields that are written.
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "checkpoint/fixture.hpp"
#include "checkpoint/manifest.hpp"

namespace plimsoll {
namespace {

void collect(const nlohmann::json& value, const std::string& before, std::set<std::string>& fields) {
  if (value.is_array())
    for (const auto& each : value) collect(each, before + "[]", fields);
  if (value.is_object())
    for (const auto& [name, each] : value.items()) {
      std::string field = before.empty() ? name : before + "." + name;
      fields.insert(field);
      collect(each, field, fields);
    }
}

// The first cells, in backquotes, of the table rows of one section.
std::set<std::string> first_cells(const std::string& page, const std::string& from, const std::string& to) {
  std::set<std::string> cells;
  size_t begin = page.find(from);
  EXPECT_NE(begin, page.npos) << from;
  std::istringstream section(page.substr(begin, page.find(to, begin) - begin));
  for (std::string line; std::getline(section, line);)
    if (line.rfind("| `", 0) == 0) cells.insert(line.substr(3, line.find('`', 3) - 3));
  return cells;
}

TEST(FormatPage, NamesEveryFileAndEveryField) {
  std::string page =
      read_file(std::filesystem::path(PLIMSOLL_SOURCE_DIR) / "docs/formats/checkpoint.md", 1 << 20);
  TemporaryFolder run;
  Weights weights;
  CheckpointStore store(run.path);
  weights.prepare(store);
  ASSERT_EQ(save(store, weights, 10), "");

  std::set<std::string> files, fields;
  for (const auto& entry : std::filesystem::directory_iterator(run.path / "step-000010"))
    files.insert(entry.path().filename().string());
  EXPECT_EQ(first_cells(page, "# Checkpoints on disk", "## manifest.json"), files);

  auto manifest = nlohmann::json::parse(read_file(run.path / "step-000010/manifest.json", 1 << 20));
  collect(manifest, "", fields);
  EXPECT_EQ(first_cells(page, "## manifest.json", "## The order"), fields);
  for (const char* field : {"format", "checksum_kind"})
    EXPECT_NE(page.find("`" + manifest[field].get<std::string>() + "`"), page.npos) << field;
  EXPECT_NE(page.find("| `version` | " + manifest["version"].dump() + ";"), page.npos);
}

}  // namespace
}  // namespace plimsoll
