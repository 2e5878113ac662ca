#include "train/rank_figures.hpp"

#include <algorithm>
#include <cstring>

#include "base/units.hpp"
#include "platform/machine.hpp"

namespace plimsoll {

std::vector<RankFigures> collect_figures(const PreparedRun& run, uint64_t rss_after_warmup,
                                         uint64_t rss_peak) {
  if (run.team.alone()) return {};
  const Plan& plan = run.runtime->plan(0);
  RankFigures own{{}, plan.total, plan.by_role, rss_after_warmup, rss_peak};
  std::strncpy(own.host.data(), platform::host_name().c_str(), own.host.size() - 1);
  std::vector<RankFigures> all(run.team.first() ? size_t(run.team.size()) : 0);
  run.team.collect(&own, sizeof own, all.data());
  return all;
}

std::vector<std::string> describe_ranks(const PreparedRun& run, const std::vector<RankFigures>& figures) {
  if (figures.empty()) return {};
  std::vector<std::string> lines = {fmt::format("Ranks: {} by {} | {} leaves", figures.size(),
                                                run.team.communicator()->library(), run.way.leaves)};
  const auto line = [&](size_t rank) {
    const RankFigures& f = figures[rank];
    std::string roles;
    for (int r = 0; r < role_count; ++r)
      if (f.by_role[size_t(r)])
        roles += fmt::format("{}{} {}", roles.empty() ? "" : ", ", role_name(Role(r)),
                             format_bytes(f.by_role[size_t(r)]));
    lines.push_back(
        fmt::format("  rank {} on {}: plan {} ({})", rank, f.host.data(), format_bytes(f.plan_bytes), roles));
  };
  constexpr size_t most_lines = 16;
  if (figures.size() <= most_lines) {
    for (size_t rank = 0; rank < figures.size(); ++rank) line(rank);
    return lines;
  }
  const auto [least, most] = std::minmax_element(
      figures.begin(), figures.end(),
      [](const RankFigures& a, const RankFigures& b) { return a.plan_bytes < b.plan_bytes; });
  line(size_t(least - figures.begin()));
  line(size_t(most - figures.begin()));
  return lines;
}

}  // namespace plimsoll
