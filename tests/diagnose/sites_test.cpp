// Which line grew, from made-up series of what lines hold.
#include "diagnose/sites.hpp"

#include <gtest/gtest.h>

#include "heap/idle_process.hpp"
#include "platform/clock.hpp"

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

// A line is judged up to the moment its process was last seen at work, not through its end.
TEST(Sites, TheEndOfAProcessIsNotJudged) {
  setenv("PLIMSOLL_HEAP_LIBRARY", "/proc/self/exe", 0);  // it need only exist: nothing is launched
  heap::Collector collector;
  heap::IdleProcess idle;
  for (int look = 1; look <= 20; ++look) {
    heap::write_held(collector, idle.pid, 10 * look);
    collector.look(look);
  }
  heap::write_held(collector, idle.pid, 199);  // it begins to be taken apart
  collector.look(20.5);
  heap::write_held(collector, idle.pid, 20);
  idle.end();
  collector.look(21);
  const SiteReport report = judge_sites(collector, nullptr, {.until = 21});
  ASSERT_EQ(report.sites.size(), 1u);
  EXPECT_EQ(report.sites[0].held.back().time, 20);
  EXPECT_EQ(report.sites[0].held.back().bytes, 200 << 20);
  EXPECT_EQ(report.sites[0].bytes, uint64_t(200) << 20);
  EXPECT_EQ(report.sites[0].grown, 190 << 20);
}

// What a validation held and gave back is not what the program held at its end.
TEST(Sites, ASpikeThatWasOverIsNotHeld) {
  setenv("PLIMSOLL_HEAP_LIBRARY", "/proc/self/exe", 0);
  heap::Collector collector;
  heap::IdleProcess idle;
  for (int look = 1; look <= 20; ++look) {
    heap::write_held(collector, idle.pid, look == 12 || look == 13 ? 90 : 50);
    collector.look(look);
  }
  heap::write_held(collector, idle.pid, 30);
  collector.look(21);
  heap::write_held(collector, idle.pid, 31);  // taking apart allocates, too
  idle.end();
  collector.look(22);
  const SiteReport report = judge_sites(collector, nullptr, {.until = 22});
  ASSERT_EQ(report.sites.size(), 1u);
  EXPECT_EQ(report.sites[0].bytes, uint64_t(50) << 20);
  EXPECT_EQ(report.sites[0].held.back().time, 20);
}

// A first process fills its memory and ends; the tree goes on without it.
TEST(Sites, WhatAProcessHeldThatLeftTheTreeIsNotLost) {
  setenv("PLIMSOLL_HEAP_LIBRARY", "/proc/self/exe", 0);
  heap::Collector collector;
  heap::IdleProcess main, preparing;
  for (int look = 1; look <= 40; ++look) {
    heap::write_held(collector, main.pid, 20, 1 << 20, 1, 9);
    if (look <= 16) heap::write_held(collector, preparing.pid, 10 * look);
    if (look == 17) preparing.end();
    collector.look(look);
  }
  const auto filled_at = [&](double until) {
    const SiteReport report = judge_sites(collector, nullptr, {.until = until});
    const auto found = std::find_if(report.sites.begin(), report.sites.end(),
                                    [](const Site& site) { return site.place.line == 5; });
    return found == report.sites.end() ? Site() : *found;
  };
  const Site left = filled_at(40);
  ASSERT_FALSE(left.held.empty());
  EXPECT_EQ(left.held.back().time, 40);
  EXPECT_EQ(left.held.back().bytes, 0);
  EXPECT_EQ(left.grown, 0);
  EXPECT_EQ(left.rate, 0);
  EXPECT_NE(left.verdict.kind, verdict::Kind::leak);
  EXPECT_EQ(left.bytes, uint64_t(160) << 20) << "what it held when it ended is still told";
  // Had the tree ended with it, it would be a line that grew to the end.
  EXPECT_EQ(filled_at(17).grown, 150 << 20);
  main.end();
}

// A wrapper forks a shell for each thing it looks up, and then the program begins that is watched.
TEST(Sites, ProcessesThatLeftTheTreeAreNotKept) {
  setenv("PLIMSOLL_HEAP_LIBRARY", "/proc/self/exe", 0);
  heap::Collector collector;
  heap::IdleProcess main, shells[4];
  std::map<int, uint64_t> footprints;
  for (int look = 1; look <= 40; ++look) {
    heap::write_held(collector, main.pid, 20, 1 << 20, 1, 9);
    if (look <= 4) {
      heap::write_held(collector, shells[look - 1].pid, 5);
      footprints[shells[look - 1].pid] = 8 << 20;
    }
    if (look >= 2 && look <= 5) shells[look - 2].end();
    collector.look(look);
  }
  const auto kept_at = [&](double until) {
    const SiteReport report = judge_sites(collector, nullptr, {.until = until, .footprints = &footprints});
    return std::any_of(report.sites.begin(), report.sites.end(),
                       [](const Site& site) { return site.processes_kept.has_value(); });
  };
  EXPECT_FALSE(kept_at(40));
  main.end();
}

// Workers that each hold ever more, free it and end: it is they that grow, not their number.
TEST(Sites, WhatAProcessFreesAtItsEndDoesNotHideThatItGrew) {
  setenv("PLIMSOLL_HEAP_LIBRARY", "/proc/self/exe", 0);
  heap::Collector collector;
  heap::IdleProcess workers[3];
  for (int look = 1; look <= 20; ++look) {
    for (const heap::IdleProcess& worker : workers) heap::write_held(collector, worker.pid, 10 * look);
    collector.look(look);
  }
  for (heap::IdleProcess& worker : workers) {
    heap::write_held(collector, worker.pid, 1);
    worker.end();
  }
  collector.look(21);
  const SiteReport report = judge_sites(collector, nullptr, {.until = 21});
  ASSERT_EQ(report.sites.size(), 1u);
  EXPECT_EQ(report.sites[0].pids.size(), 3u);
  EXPECT_FALSE(report.sites[0].grows_by_processes);
}

// A line that begins with nothing has no start-up of its own, however much faster than later it grows at first.
TEST(Sites, ALineIsJudgedFromTheFirstOfItsLooks) {
  setenv("PLIMSOLL_HEAP_LIBRARY", "/proc/self/exe", 0);
  heap::Collector collector;
  heap::IdleProcess idle;
  for (int look = 0; look < 28; ++look) {
    heap::write_held(collector, idle.pid, uint64_t(look < 14 ? 3 * look : 40 + 2 * (look - 14)));
    collector.look(look + 1);
  }
  const auto judged = [&](double from) {
    return judge_sites(collector, nullptr, {.until = 28, .from = from}).sites.at(0);
  };
  EXPECT_EQ(judged(0).verdict.judged_from, 1);
  EXPECT_GT(judged(0).rate, 0);
  EXPECT_EQ(judged(5).verdict.judged_from, 5) << "the start-up of the program is not judged";
  idle.end();
}

TEST(Sites, WhatToDoNextFollowsWhatWasGained) {
  SiteReport report;
  report.sites.push_back(holding("load", {{0, 0}, {12, 30e6}}));
  report.sites[0].place.file = "train.py";
  EXPECT_NE(next_with_sites(report).find("no sampled line grows"), std::string::npos);
  report.sites[0].grown = 30e6, report.answer_site = 0;
  EXPECT_EQ(next_with_sites(report),
            "watch for longer, to see whether train.py load stops: so far it has gained 30.0 MB");
}

// The same bytes: blocks of a kilobyte that are as old as the growth, or none older than three seconds.
verdict::Kind judged_with(bool replaced) {
  setenv("PLIMSOLL_HEAP_LIBRARY", "/proc/self/exe", 0);
  heap::Collector collector;
  heap::IdleProcess idle;
  for (int look = 1; look <= 40; ++look) {
    const uint64_t three_seconds_ago = platform::monotonic_nanoseconds() - 3'000'000'000;
    heap::write_held(collector, idle.pid, 100 + look / 2, 1000, replaced ? three_seconds_ago : 1);
    collector.look(look);
  }
  const SiteReport report = judge_sites(collector, nullptr, {.until = 40});
  idle.end();
  EXPECT_EQ(report.sites.size(), 1u);
  EXPECT_EQ(report.sites.at(0).replaced, replaced);
  EXPECT_EQ(report.sites.at(0).rate > 0, !replaced);
  return report.sites.at(0).verdict.kind;
}

TEST(Sites, ALineThatReplacesAllItHoldsIsNotAccusedByChance) {
  EXPECT_EQ(judged_with(false), verdict::Kind::leak);
  EXPECT_EQ(judged_with(true), verdict::Kind::undecided);
}

}  // namespace
}  // namespace plimsoll::diagnose
