#include "diagnose/judgement.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/mask.hpp"
#include "base/units.hpp"

namespace plimsoll::diagnose {
namespace {

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

// Where one member of a pool makes most of its growth, it is the one to name.
Candidate narrowed(const Candidate& pool, const History& history, double from, double until) {
  Candidate steepest = pool;
  double most = 0;
  for (const proc::ProcessId& id : pool.pool->members) {
    const Lifetime& life = history.processes().at(id);
    double slope = floor_slope(life.series, from, until);
    if (slope > most) most = slope, steepest = {&life.series, &life, pool.pool, slope};
  }
  return most >= 0.5 * pool.slope ? steepest : pool;
}

Culprit make_culprit(const Candidate& candidate, const Roles& roles, const History& history,
                     double tree_slope) {
  Culprit culprit;
  culprit.rate = candidate.slope;
  culprit.share = tree_slope > 0 ? std::clamp(candidate.slope / tree_slope, 0.0, 1.0) : 0;
  if (candidate.life) {
    culprit.id = candidate.life->id;
    culprit.name = escape(candidate.life->name);
    auto role = roles.role.find(candidate.life->id);
    culprit.role = role == roles.role.end() ? ProcessRole::other : role->second;
  } else {
    culprit.pool = true;
    culprit.id = candidate.pool->members.front();
    culprit.name = escape(history.processes().at(culprit.id).name);
    culprit.role = ProcessRole::worker;
  }
  return culprit;
}

std::string named(const Culprit& culprit, size_t members) {
  if (culprit.pool)
    return fmt::format("The growth is spread over the worker pool of {} x {} ({:.0f} % of it).", members,
                       culprit.name, 100 * culprit.share);
  return fmt::format("The growth is in {} (pid {}, {}), which accounts for {:.0f} % of it.", culprit.name,
                     culprit.id.pid,
                     culprit.role == ProcessRole::worker ? "one of a worker pool" : role_name(culprit.role),
                     100 * culprit.share);
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
  result = verdict::judge(verdict::samples_of(tree, until), options);
  result.samples = tree.values();

  const double from = result.kind == Kind::leak ? std::min(result.onset, until) : history.first_time();
  const double tree_slope = floor_slope(tree, from, until);
  auto found = candidates(history, judgement.roles, from, until);
  if (found.empty()) return judgement;
  Candidate best = found.front().life ? found.front() : narrowed(found.front(), history, from, until);
  if (result.kind != Kind::leak) {
    // A leak of one process can drown in what the others do. It counts where the tree's own floor rises along
    // with it: pages that merely lose a sharer raise a process and not the tree.
    verdict::Verdict own = verdict::judge(verdict::samples_of(*best.series, until), options);
    double growth = own.floor_end - own.floor_start;
    if (own.kind != Kind::leak || growth < 0.02 * result.floor_end || tree_slope < 0.5 * own.rate)
      return judgement;
    own.floor_start = result.floor_start, own.floor_end = result.floor_end;
    own.spikes = result.spikes;
    own.samples = result.samples;
    result = own;
  }
  judgement.culprit = make_culprit(best, judgement.roles, history, tree_slope);
  size_t members = best.pool ? best.pool->members.size() : 1;
  result.sentence += (result.sentence.empty() ? "" : " ") + named(*judgement.culprit, members);
  return judgement;
}

}  // namespace plimsoll::diagnose
