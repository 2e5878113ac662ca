#include "diagnose/judgement.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/mask.hpp"
#include "base/units.hpp"

namespace plimsoll::diagnose {
namespace {

constexpr double alike = 0.5;  // of the steepest: members that grow at least this fast grow together

struct Candidate {
  const verdict::Series* series = nullptr;
  const Lifetime* life = nullptr;  // null: a pool
  const WorkerPool* pool = nullptr;
  double slope = 0;
};

// Processes and pools that were there for most of the time since `from`, steepest first.
std::vector<Candidate> candidates(const History& history, const Roles& roles, double from, double until) {
  std::vector<Candidate> found;
  auto consider = [&](Candidate candidate) {
    const verdict::Series& series = *candidate.series;
    if (series.size() < 4 || series[series.size() - 1].end < until - 0.1 * (until - from)) return;
    double begin = std::max<double>(from, series[0].begin);
    if (until - begin < 0.3 * (until - from)) return;
    candidate.slope = floor_slope(series, begin, until);
    if (candidate.slope > 0) found.push_back(candidate);
  };
  for (const auto& [id, life] : history.processes())
    if (!roles.pool_of(id)) consider({&life.series, &life, nullptr});
  for (const WorkerPool& pool : roles.pools)
    if (const auto& series = history.groups()[size_t(pool.group)].series)
      consider({series.get(), nullptr, &pool});
  std::sort(found.begin(), found.end(), [](auto& a, auto& b) { return a.slope > b.slope; });
  return found;
}

// Where one member of a pool makes most of its growth, it is the one to name; where several grow alike, they are named
// together.
Candidate narrowed(const Candidate& pool, const History& history, double from, double until) {
  Candidate steepest = pool;
  double most = 0, second = 0;
  for (const proc::ProcessId& id : pool.pool->members) {
    const Lifetime& life = history.processes().at(id);
    double slope = floor_slope(life.series, from, until);
    if (slope > most)
      second = most, most = slope, steepest = {&life.series, &life, pool.pool, slope};
    else
      second = std::max(second, slope);
  }
  return most >= 0.5 * pool.slope && second < alike * most ? steepest : pool;
}

void name_culprit(Judgement& judgement, const Candidate& candidate, const History& history, double tree_slope,
                  double from, double until) {
  verdict::Culprit& culprit = judgement.culprit.emplace();
  culprit.rate = candidate.slope;
  culprit.share = tree_slope > 0 ? std::clamp(candidate.slope / tree_slope, 0.0, 1.0) : 0;
  culprit.pool = !candidate.life;
  if (culprit.pool) {
    const std::vector<proc::ProcessId>& members = candidate.pool->members;
    std::vector<double> slopes;
    for (const proc::ProcessId& id : members)
      slopes.push_back(floor_slope(history.processes().at(id).series, from, until));
    const auto steepest = std::max_element(slopes.begin(), slopes.end());
    judgement.culprit_id = members[size_t(steepest - slopes.begin())];
    culprit.members = int(std::count_if(slopes.begin(), slopes.end(),
                                        [&](double s) { return s > 0 && s >= alike * *steepest; }));
  } else {
    judgement.culprit_id = candidate.life->id;
  }
  culprit.pid = judgement.culprit_id.pid;
  culprit.name = escape(history.processes().at(judgement.culprit_id).name);
  const auto role = judgement.roles.role.find(judgement.culprit_id);
  culprit.role = role_name(culprit.pool                         ? ProcessRole::worker
                           : role == judgement.roles.role.end() ? ProcessRole::other
                                                                : role->second);
}

std::string named(const verdict::Culprit& culprit, size_t members) {
  if (culprit.pool)
    return culprit.members > 0 && size_t(culprit.members) < members
               ? fmt::format("The growth is in {} of {} workers of pool {}, {:.0f} % each.", culprit.members,
                             members, culprit.name, 100 * culprit.share / double(culprit.members))
               : fmt::format("The growth is in {} workers of pool {}, {:.0f} % each.", members, culprit.name,
                             100 * culprit.share / double(std::max<size_t>(members, 1)));
  return fmt::format("The growth is in {} (pid {}, {}), which accounts for {:.0f} % of it.", culprit.name,
                     culprit.pid,
                     culprit.role == role_name(ProcessRole::worker) ? "one of a worker pool" : culprit.role,
                     100 * culprit.share);
}

// What to do about it: where to look, and with what.
std::string advice(const Judgement& judgement) {
  const verdict::Verdict& v = judgement.verdict;
  if (v.kind == verdict::Kind::no_leak) return "";
  if (v.kind == verdict::Kind::undecided && v.may_end_with_epoch && v.growing)
    return "watch until well into the second epoch; if it still grows there, profile it with `plimsoll "
           "profile -- …`";
  if (v.kind == verdict::Kind::undecided && v.needs_seconds < 0.1)
    return "watch a longer run, or take samples more often with --interval";
  if (v.kind == verdict::Kind::undecided)
    return v.growing ? fmt::format(
                           "watch for {} more; if it has not stopped by then, profile it with `plimsoll "
                           "profile -- …`",
                           format_duration(v.needs_seconds))
                     : fmt::format("watch for {} more", format_duration(v.needs_seconds));
  const std::string where =
      !judgement.culprit ? ""
      : judgement.culprit->pool
          ? fmt::format(" in one of the workers of {}", judgement.culprit->name)
          : fmt::format(" in {} (pid {})", judgement.culprit->name, judgement.culprit->pid);
  return fmt::format(
      "find the line that keeps it{} with `plimsoll profile -- …`; it has been growing since {}{}", where,
      format_duration(v.onset),
      v.spikes.phase.empty() ? "" : ", look at the phase " + v.spikes.phase + " first");
}

}  // namespace

double floor_slope(const verdict::Series& series, double from, double until) {
  constexpr size_t stretches = 12;
  struct Low {
    double time = 0, bytes = -1;
  } lows[stretches];
  if (until <= from) return 0;
  for (size_t i = 0; i < series.size(); ++i) {
    const verdict::Series::Stretch& part = series[i];
    if (part.begin < from || part.begin > until) continue;
    size_t stretch = std::min(stretches - 1, size_t((part.begin - from) / (until - from) * stretches));
    Low& low = lows[stretch];
    if (low.bytes < 0 || double(part.low) < low.bytes) low = {part.begin, double(part.low)};
  }
  std::vector<double> slopes;
  for (size_t a = 0; a < stretches; ++a)
    for (size_t b = a + 1; b < stretches; ++b)
      if (lows[a].bytes >= 0 && lows[b].bytes >= 0 && lows[b].time > lows[a].time)
        slopes.push_back((lows[b].bytes - lows[a].bytes) / (lows[b].time - lows[a].time));
  if (slopes.size() < 3) return 0;
  auto middle = slopes.begin() + ptrdiff_t(slopes.size() / 2);
  std::nth_element(slopes.begin(), middle, slopes.end());
  return *middle;
}

Judgement judge_tree(const verdict::Series& tree, const History& history, const verdict::Options& options,
                     double until) {
  using verdict::Kind;
  Judgement judgement;
  judgement.roles = find_roles(history);
  verdict::Verdict& result = judgement.verdict;
  auto advised = [&]() -> Judgement& {
    judgement.next = advice(judgement);
    return judgement;
  };
  result = verdict::judge(verdict::samples_of(tree, until), options);
  result.samples = tree.values();

  // The same stretch that was judged: neither the start-up nor the coming down.
  if (result.judged_until > 0) until = std::min(until, result.judged_until);
  const double from = result.kind == Kind::leak ? std::min(result.onset, until)
                                                : std::max(history.first_time(), result.judged_from);
  const double tree_slope = floor_slope(tree, from, until);
  auto found = candidates(history, judgement.roles, from, until);
  if (found.empty()) return advised();
  Candidate best = found.front().life ? found.front() : narrowed(found.front(), history, from, until);
  if (result.kind != Kind::leak) {
    // A leak of one process can drown in what the others do. It counts where the tree's own floor rises along
    // with it: pages that merely lose a sharer raise a process and not the tree.
    verdict::Verdict own = verdict::judge(verdict::samples_of(*best.series, until), options);
    double growth = own.floor_end - own.floor_start;
    if (own.kind != Kind::leak || growth < 0.02 * result.floor_end || tree_slope < 0.5 * own.rate)
      return advised();
    own.floor_start = result.floor_start, own.floor_end = result.floor_end;
    own.spikes = result.spikes;
    own.samples = result.samples;
    result = own;
  }
  name_culprit(judgement, best, history, tree_slope, from, until);
  size_t members = best.pool ? best.pool->members.size() : 1;
  result.sentence += (result.sentence.empty() ? "" : " ") + named(*judgement.culprit, members);
  return advised();
}

}  // namespace plimsoll::diagnose
