#include "diagnose/roles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/mask.hpp"
#include "base/units.hpp"

namespace plimsoll::diagnose {
namespace {

uint64_t median(std::vector<uint64_t> values) {
  if (values.empty()) return 0;
  auto middle = values.begin() + ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Lived for a small part of the watch only, and has ended.
bool came_and_went(const Lifetime& life, const History& history) {
  double watched = history.last_time() - history.first_time();
  return life.ended && life.life() < std::max(watched * 0.25, 1e-9) &&
         history.last_time() - life.last > watched * 0.05;
}

std::string describe_pool(const std::vector<const Lifetime*>& members, const Group& group) {
  std::vector<uint64_t> bytes, rss, shared;
  for (const Lifetime* life : members)
    bytes.push_back(life->bytes), rss.push_back(life->rss), shared.push_back(life->shared);
  Drift moved;
  size_t steady = 0;
  for (const Lifetime* life : members) {
    Drift one = drift(life->series);
    steady += one.stable();
    moved.first += one.first, moved.last += one.last;
  }
  std::string trend =
      steady * 10 >= members.size() * 9 && moved.stable() ? "stable"
      : moved.last > moved.first && !moved.stable()
          ? fmt::format("growing, together by {}", format_bytes(uint64_t(moved.last - moved.first)))
      : steady < members.size() ? fmt::format("{} of {} stable", steady, members.size())
                                : "shrinking";
  std::string sharing =
      median(shared) >= 1'000'000 ? fmt::format(", sharing {} each", format_bytes(median(shared))) : "";
  std::string turnover = group.ever > group.most_alive * 2 ? fmt::format(", {} seen in all", group.ever) : "";
  return fmt::format("worker pool: {} x ~{}{}{}, {}", members.size(), format_bytes(median(rss)), sharing,
                     turnover, trend);
}

}  // namespace

const char* role_name(Role role) {
  switch (role) {
    case Role::main:
      return "main";
    case Role::wrapper:
      return "wrapper";
    case Role::worker:
      return "worker pool";
    case Role::short_lived:
      return "short-lived";
    case Role::other:
      return "other";
  }
  return "other";
}

const Pool* Roles::pool_of(const proc::ProcessId& id) const {
  for (const Pool& pool : pools)
    if (std::binary_search(pool.members.begin(), pool.members.end(), id)) return &pool;
  return nullptr;
}

bool Drift::stable() const {
  double moved = last > first ? last - first : first - last;
  return moved <= std::max(1e6, 0.05 * std::max(first, last));
}

Drift drift(const verdict::Series& series) {
  size_t third = std::max<size_t>(series.size() / 3, 1);
  auto low = [&](size_t from, size_t to) {
    uint64_t least = UINT64_MAX;
    for (size_t i = from; i < to && i < series.size(); ++i) least = std::min(least, series[i].low);
    return least == UINT64_MAX ? 0.0 : double(least);
  };
  // What happens right after the start is warm-up, not drift.
  return {low(series.size() > 8 ? third : 0, series.size() > 8 ? 2 * third : third),
          low(series.size() - std::min(third, series.size()), series.size())};
}

Roles find_roles(const History& history) {
  Roles roles;
  std::vector<const Lifetime*> singles;
  std::map<int, std::vector<const Lifetime*>> by_group;
  double all_cpu = 0;
  uint64_t all_bytes = 0;
  for (const auto& [id, life] : history.processes()) {
    all_cpu += life.cpu();
    all_bytes += life.bytes;
    if (came_and_went(life, history)) {
      roles.role[id] = Role::short_lived;
      roles.explanation[id] = fmt::format("short-lived: {} at most, lived {}", format_bytes(life.peak),
                                          format_duration(life.life()));
    } else if (life.group >= 0 && history.groups()[size_t(life.group)].most_alive >= 2) {
      by_group[life.group].push_back(&life);
    } else {
      singles.push_back(&life);
    }
  }

  uint64_t pooled_bytes = 0;
  double pooled_cpu = 0;
  for (auto& [index, members] : by_group) {
    // Siblings of one name are a pool only if they are alike in size, but for the odd one that grows.
    std::vector<uint64_t> sizes;
    for (const Lifetime* life : members) sizes.push_back(std::max<uint64_t>(life->rss, 1));
    uint64_t middle = median(sizes);
    size_t alike = size_t(std::count_if(sizes.begin(), sizes.end(),
                                        [&](uint64_t s) { return s < 3 * middle && middle < 3 * s; }));
    if (members.size() < 2 || alike * 3 < members.size() * 2) {
      singles.insert(singles.end(), members.begin(), members.end());
      continue;
    }
    Pool pool{.group = index,
              .members = {},
              .explanation = describe_pool(members, history.groups()[size_t(index)])};
    for (const Lifetime* life : members) {
      pool.members.push_back(life->id);
      roles.role[life->id] = Role::worker;
      pooled_bytes += life->bytes;
      pooled_cpu += life->cpu();
    }
    roles.pools.push_back(std::move(pool));
  }

  // The main process is the one that uses most, in memory and processor together.
  auto weight = [&](const Lifetime* life) {
    return double(life->bytes) / double(std::max<uint64_t>(all_bytes, 1)) +
           (all_cpu > 0 ? life->cpu() / all_cpu : 0);
  };
  const Lifetime* main = nullptr;
  for (const Lifetime* life : singles)
    if (!main || weight(life) > weight(main)) main = life;
  // Where a pool does the work (one process a device), a parent that only waits is no main process.
  if (main && pooled_bytes > 9 * main->bytes && pooled_cpu > 9 * main->cpu()) main = nullptr;

  std::set<int> parents;
  for (const auto& [id, life] : history.processes()) parents.insert(life.parent);
  for (const Lifetime* life : singles) {
    double cpu_share = all_cpu > 0 ? life->cpu() / all_cpu : 0;
    std::string use =
        fmt::format("{}, {:.0f} % of the tree's processor time", format_bytes(life->bytes), 100 * cpu_share);
    uint64_t busiest = std::max(main ? main->bytes : 0, pooled_bytes);
    bool waits =
        parents.count(life->id.pid) && life->bytes * 4 < std::max<uint64_t>(busiest, 1) && cpu_share < 0.1;
    Role role = life == main ? Role::main : waits ? Role::wrapper : Role::other;
    roles.role[life->id] = role;
    roles.explanation[life->id] = role == Role::main      ? "main: " + use
                                  : role == Role::wrapper ? "wrapper: " + use + ", waits for its children"
                                                          : "other: " + use;
  }
  return roles;
}

}  // namespace plimsoll::diagnose
