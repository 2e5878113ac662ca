// Which line grew, from made-up series of what lines hold.
#include "diagnose/sites.hpp"

#include <gtest/gtest.h>

namespace plimsoll::diagnose {
namespace {

Site holding(const char* name, std::vector<verdict::Sample> held) {
  Site site;
  site.place.function = name;
  site.held = std::move(held);
  return site;
}

TEST(GrownMost, NamesWhatIsNewAndNotWhatIsLargeOrMoves) {
  std::vector<verdict::Sample> model, batches, burst, leak;
  for (double time = 0; time <= 100; ++time) {
    model.push_back({time, 500e6});
    batches.push_back({time, int(time) % 7 ? 80e6 : 10e6});
    burst.push_back({time, time < 95 ? 0 : 50e6});
    leak.push_back({time, 1e6 * time});
  }
  SiteReport report;
  report.sites = {holding("model", model), holding("batches", batches), holding("leak", leak)};
  EXPECT_EQ(grown_most(report, 100).site->place.function, "leak");
  EXPECT_DOUBLE_EQ(grown_most(report, 100).bytes, 100e6 - 69e6);
  report.sites.push_back(holding("burst", burst));
  EXPECT_EQ(grown_most(report, 100).site->place.function, "burst");
  // What is looked at later, while the program is paused, is the same.
  for (Site& site : report.sites)
    for (double time = 101; time < 200; ++time) site.held.push_back({time, site.held.back().bytes});
  EXPECT_EQ(grown_most(report, 100).site->place.function, "burst");
}

TEST(GrownMost, OfAShortLifeTheSecondHalfCounts) {
  SiteReport report;
  report.sites = {holding("model", {{0, 60e6}, {1, 60e6}, {2, 60e6}}),
                  holding("bomb", {{0, 0}, {1, 5e6}, {2, 50e6}})};
  EXPECT_EQ(grown_most(report, 2).site->place.function, "bomb");
}

TEST(GrownMost, NothingWhereNothingGrew) {
  SiteReport report;
  EXPECT_EQ(grown_most(report, 10).site, nullptr);
  report.sites = {holding("model", {{0, 60e6}, {5, 60e6}, {10, 50e6}})};
  EXPECT_EQ(grown_most(report, 10).site, nullptr);
}

}  // namespace
}  // namespace plimsoll::diagnose
