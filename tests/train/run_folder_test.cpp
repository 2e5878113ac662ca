// The run folder is created completely or not at all, and a damaged record does not stop a run.
#include "train/run_folder.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

#include "base/error.hpp"
#include "base/file.hpp"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

struct RunFolderTest : testing::Test {
  RunFolderTest() {
    char name[] = "/tmp/plimsoll-run-folder-XXXXXX";
    place = mkdtemp(name);
  }
  ~RunFolderTest() override { fs::remove_all(place); }
  fs::path place;
};

TEST_F(RunFolderTest, AppearsWithItsFile) {
  make_run_folder(place / "a" / "b", "{}");
  EXPECT_EQ(read_file(place / "a" / "b" / "run.json", 10), "{}");
  size_t entries = 0;
  for (const auto& entry : fs::directory_iterator(place / "a")) entries += entry.exists();
  EXPECT_EQ(entries, 1u) << "nothing temporary is left";
}

TEST_F(RunFolderTest, AFolderThatIsThereKeepsItsFile) {
  make_run_folder(place / "run", "old");
  make_run_folder(place / "run", "new");
  EXPECT_EQ(read_file(place / "run" / "run.json", 10), "old");
}

TEST_F(RunFolderTest, APathBelowAFileIsRefused) {
  std::ofstream(place / "file") << "text";
  EXPECT_THROW(make_run_folder(place / "file" / "run", "{}"), InputError);
}

TEST_F(RunFolderTest, MetricsAreCheckedBeforeAnythingIsMade) {
  EXPECT_THROW(check_metrics(place / "missing" / "m.jsonl", place / "run"), InputError);
  EXPECT_THROW(check_metrics(place, place / "run"), InputError);
  EXPECT_NO_THROW(check_metrics(place / "m.jsonl", place / "run"));
  EXPECT_NO_THROW(check_metrics(place / "run" / "m.jsonl", place / "run"))
      << "the run's own folder is made later";
}

TEST_F(RunFolderTest, ADamagedRecordIsPutAside) {
  std::ofstream(place / "run.db") << std::string(5000, 'x');
  std::vector<std::string> notes;
  { RunRecord record = open_record(place, 0, notes); }
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("run.db.damaged"), notes[0].npos) << notes[0];
  EXPECT_EQ(fs::file_size(place / "run.db.damaged"), 5000u);
  notes.clear();
  { RunRecord record = open_record(place, 0, notes); }
  EXPECT_TRUE(notes.empty()) << "the new one is whole";
}

}  // namespace
}  // namespace plimsoll
