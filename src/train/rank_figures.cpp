#include "train/rank_figures.hpp"

#include <algorithm>
#include <cstring>

#include "base/units.hpp"
#include "platform/machine.hpp"

namespace plimsoll {

std::vector<RankFigures> collect_figures(const PreparedRun& run, const RankFigures::Ended& ended) {
  if (run.team.alone()) return {};
  const Plan& plan = run.runtime->plan(0);
  RankFigures own{{}, plan.total, plan.total + run.overhead, plan.by_role, ended};
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
    lines.push_back(fmt::format("  rank {} on {}: plan {} ({}); {} with the program and MPI", rank,
                                f.host.data(), format_bytes(f.plan_bytes), roles,
                                format_bytes(f.process_bytes)));
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

verdict::Verdict worst_verdict(const verdict::Verdict& own, const std::vector<RankFigures>& figures) {
  const auto worst = std::max_element(
      figures.begin(), figures.end(),
      [](const RankFigures& a, const RankFigures& b) { return a.ended.leak_rate < b.ended.leak_rate; });
  if (worst == figures.end() || worst == figures.begin() || worst->ended.leak_rate <= 0) return own;
  verdict::Verdict said = own;
  said.kind = verdict::Kind::leak, said.growing = true;
  said.rate = said.rate_low = said.rate_high = worst->ended.leak_rate;
  said.rate_per_step.reset();
  said.sentence =
      fmt::format("Rank {} on {}: {}", worst - figures.begin(), worst->host.data(), worst->ended.leak.data());
  return said;
}

std::string describe_ended(const std::vector<RankFigures>& figures) {
  const auto most = std::max_element(
      figures.begin(), figures.end(),
      [](const RankFigures& a, const RankFigures& b) { return a.ended.rss_peak < b.ended.rss_peak; });
  double exposed = 0, hidden = 0, meeting = 0;
  for (const RankFigures& f : figures) {
    exposed += f.ended.exchange.exposed, hidden += f.ended.exchange.hidden;
    meeting += f.ended.exchange.meeting;
  }
  const double each = 1e3 / double(figures.size());
  return fmt::format(
      "Of {} ranks, rank {} on {} had the highest peak: {} of {} expected\n"
      "Exchange: {:.2f} ms of a step of {:.2f} ms, {:.2f} ms more beside the backward pass; {:.2f} ms "
      "waiting for "
      "other ranks",
      figures.size(), most - figures.begin(), most->host.data(), format_bytes(most->ended.rss_peak),
      format_bytes(most->process_bytes), exposed * each, figures.front().ended.step_seconds * 1e3,
      hidden * each, meeting * each);
}

}  // namespace plimsoll
