// What is said of the lines of a profiled program.
#include "report/sites_text.hpp"

#include <gtest/gtest.h>

namespace plimsoll::report {
namespace {

TEST(SitesText, WhereALineHasGainedItIsNotSaidThatNoneGrows) {
  diagnose::SiteReport report;
  diagnose::Site& site = report.sites.emplace_back();
  site.place = {.file = "/a/train.py", .function = "step", .line = 4};
  site.pids = {1}, site.bytes = 30'000'000, site.grown = 30e6;
  EXPECT_NE(lines_text(report).find("no line was seen to grow"), std::string::npos);
  report.answer_site = 0;
  EXPECT_EQ(lines_text(report), "lines that hold most:\n    30.0 MB  a/train.py:4 in step\n");
  EXPECT_EQ(first_sight(report, "Growing."), "Growing.") << "its share is not known";
}

}  // namespace
}  // namespace plimsoll::report
