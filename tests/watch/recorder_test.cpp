// What is written of the lines of a profiled program.
#include "watch/recorder.hpp"

#include <gtest/gtest.h>

#include "record/folder.hpp"
#include "record/run_reader.hpp"

namespace plimsoll::watch {
namespace {

// Two stacks of a line that grows, one of a line that was allocated once at the start.
TEST(Recorder, StacksCarryTheRateAndTheNameOfTheirLine) {
  const diagnose::Place library{"obmalloc.c", "default_malloc", 9, false, true},
      grows{"train.py", "step", 5, true, false}, still{"model.py", "load", 7, true, false};
  diagnose::SiteReport report;
  report.sites.resize(2);
  report.sites[0].place = grows, report.sites[0].rate = 1000, report.sites[0].hint = "free it";
  report.sites[1].place = still;
  report.stacks = {{.stack = {library, grows}, .bytes = 300, .rate = 600},
                   {.stack = {grows}, .bytes = 200, .rate = 200},
                   {.stack = {library, still}, .bytes = 100, .rate = 50}};
  test::Folder folder;
  {
    RunRecord record = RunRecord::create(folder.path / "run.db", {.kind = RunKind::watch});
    write_sites(record, report, 1, [](int) { return unknown_count; });
  }
  const auto sites = RunReader(folder.path / "run.db").sites();
  ASSERT_EQ(sites.size(), 3u);
  EXPECT_EQ(sites[0].place, "train.py:5 step");
  EXPECT_EQ(sites[0].bytes_per_second, 750);
  EXPECT_EQ(sites[1].bytes_per_second, 250);
  EXPECT_EQ(sites[1].hint, "free it");
  EXPECT_EQ(sites[2].place, "model.py:7 load");
  EXPECT_EQ(sites[2].bytes_per_second, 0) << "what was allocated once does not grow";
}

}  // namespace
}  // namespace plimsoll::watch
