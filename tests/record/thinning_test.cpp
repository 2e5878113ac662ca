#include "record/thinning.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "base/footprint.hpp"
#include "base/random.hpp"
#include "record/folder.hpp"
#include "record/run_reader.hpp"
#include "record/run_record.hpp"

namespace plimsoll {

TEST(Thinning, AGroupKeepsItsExtremesAndFewRows) {
  EXPECT_TRUE(rc::check([](const std::vector<std::pair<int16_t, int16_t>>& values, uint32_t unknown) {
    std::vector<ThinningRow> group;
    for (size_t i = 0; i < std::min(values.size(), thinning_group); ++i)
      group.push_back(
          {static_cast<int64_t>(i), (unknown >> i & 1u) ? NAN : values[i].first, double(values[i].second)});
    const uint32_t keep = rows_to_keep(group);
    RC_ASSERT(std::popcount(keep) <= 4);
    for (double ThinningRow::*measure : {&ThinningRow::first, &ThinningRow::second})
      for (const double sign : {1.0, -1.0}) {
        double all = INFINITY, kept = INFINITY;
        for (size_t i = 0; i < group.size(); ++i) {
          all = std::fmin(all, sign * group[i].*measure);
          if (keep >> i & 1u) kept = std::fmin(kept, sign * group[i].*measure);
        }
        RC_ASSERT(all == kept);
      }
  }));
}

TEST(Thinning, MinimaAndMaximaOfEverySeriesSurviveAndTheFileStaysSmall) {
  EXPECT_TRUE(rc::check([](uint64_t seed) {
    test::Folder folder;
    const CounterRng random(seed, Stream::sampling);
    const auto path = folder.path / "run.db";
    const int64_t processes = 1 + static_cast<int64_t>(random.below(0, 7));
    struct Extremes {
      int64_t least = INT64_MAX, most = 0;
      void see(int64_t value) { least = std::min(least, value), most = std::max(most, value); }
    };
    std::map<int64_t, Extremes> rss, pss;
    {
      RunRecord record =
          RunRecord::create(path, {.max_bytes = 160'000, .rows_per_commit = 20, .seconds_per_commit = 1e9});
      for (int64_t p = 0; p < processes; ++p) record.process({.pid = p, .name = "p"});
      for (uint64_t i = 0; i < 4000; ++i) {
        const auto process = static_cast<int64_t>(i) % processes + 1;
        // Heavy tails: extremes are rare and large.
        const auto value = [&](uint64_t k) {
          return static_cast<int64_t>(1e6 / (1e-4 + random.uniform(4 * i + k)));
        };
        const ProcessSampleRow row{.process = process, .time = double(i), .rss = value(1), .pss = value(2)};
        record.process_sample(row);
        rss[process].see(row.rss);
        pss[process].see(row.pss);
        record.memory({.time = double(i), .rss = row.rss, .pss = row.pss});
        rss[0].see(row.rss);
        pss[0].see(row.pss);
      }
      RC_ASSERT(record.bytes() < 160'000u);
    }
    RC_ASSERT(std::filesystem::file_size(path) < 200'000u);
    std::map<int64_t, Extremes> rss_kept, pss_kept;
    RunReader reader(path);
    double last = -1;
    for (const auto& row : reader.memory()) {
      RC_ASSERT(row.time > last);
      last = row.time;
      rss_kept[0].see(row.rss);
      pss_kept[0].see(row.pss);
    }
    RC_ASSERT(last == 3999);
    for (const auto& row : reader.process_samples()) {
      rss_kept[row.process].see(row.rss);
      pss_kept[row.process].see(row.pss);
    }
    RC_ASSERT(reader.process_samples().size() < 4000u);
    for (int64_t p = 0; p <= processes; ++p) {
      RC_ASSERT(rss_kept[p].least == rss[p].least && rss_kept[p].most == rss[p].most);
      RC_ASSERT(pss_kept[p].least == pss[p].least && pss_kept[p].most == pss[p].most);
    }
  }));
}

TEST(Thinning, ManyShortLivedProcessesStayBounded) {
  test::Folder folder;
  const auto path = folder.path / "run.db";
  int64_t main = 0;
  {
    RunRecord record = RunRecord::create(path, {.max_bytes = 1'000'000});
    main = record.process({.pid = 1, .name = "main", .role = "main"});
    for (int64_t i = 0; i < 30'000; ++i) {
      const int64_t id =
          record.process({.pid = i, .parent = main, .name = "short", .arguments = "a worker's arguments"});
      record.process_sample({.process = id, .rss = 1000 + i});
      record.process_sample({.process = main, .rss = 1000 + i});
      record.process_ended(id);
    }
  }
  EXPECT_LT(std::filesystem::file_size(path), 1'200'000u);
  RunReader reader(path);
  EXPECT_EQ(reader.processes().front().id, main);  // what lives is kept
  auto samples = reader.process_samples();
  std::erase_if(samples, [&](const ProcessSampleRow& row) { return row.process != main; });
  EXPECT_EQ(footprint(samples.front()), 1000);
  EXPECT_EQ(footprint(samples.back()), 30'999);
}

TEST(Thinning, MoreSeriesThanFitAtOnceStayBounded) {
  test::Folder folder;
  const auto path = folder.path / "run.db";
  constexpr int64_t processes = 1500;
  {
    RunRecord record = RunRecord::create(path, {.max_bytes = 1'500'000});
    for (int64_t p = 1; p <= processes; ++p) record.process({.pid = p, .name = "p"});
    for (int64_t i = 0; i < 100; ++i)
      for (int64_t p = 1; p <= processes; ++p)
        record.process_sample({.process = p, .rss = 1000 * p + i, .pss = 1000 * p});
  }
  EXPECT_LT(std::filesystem::file_size(path), 1'800'000u);
}

}  // namespace plimsoll
