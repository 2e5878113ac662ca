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
  std::string trend = steady * 10 >= members.size() * 9 && moved.stable() ? "stable"
                      : moved.last > moved.first && !moved.stable()       ? "growing"
                      : steady < members.size() ? fmt::format("{} of {} stable", steady, members.size())
                                                : "shrinking";
  std::string sharing =
      median(shared) >= 1'000'000 ? fmt::format(", sharing {} each", format_bytes(median(shared))) : "";
  std::string turnover = group.ever > group.most_alive * 2 ? fmt::format(", {} seen in all", group.ever) : "";
  return fmt::format("worker pool: {} x ~{}{}{}, {}", members.size(), format_bytes(median(rss)), sharing,
                     turnover, trend);
}

}  // namespace

const char* role_name(ProcessRole role) {
  switch (role) {
    case ProcessRole::main:
      return "main";
    case ProcessRole::wrapper:
      return "wrapper";
    case ProcessRole::worker:
      return "worker pool";
    case ProcessRole::short_lived:
      return "short-lived";
    case ProcessRole::other:
      return "other";
  }
  return "other";
}

const WorkerPool* Roles::pool_of(const proc::ProcessId& id) const {
  for (const WorkerPool& pool : pools)
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

namespace {

// Sorts a tree's processes in three steps: those that came and went, pools of workers, and the rest by use.
class RoleFinder {
 public:
  explicit RoleFinder(const History& history) : history_(history) {}

  Roles find() {
    sort_out();
    for (const auto& [group, members] : by_group_) pool_or_singles(group, members);
    const Lifetime* main = find_main();
    std::set<int> parents;
    for (const auto& [id, life] : history_.processes()) parents.insert(life.parent);
    for (const Lifetime* life : singles_) place(*life, main, parents.count(life->id.pid) > 0);
    return std::move(roles_);
  }

 private:
  struct Use {
    uint64_t bytes = 0;
    double cpu = 0;
    void add(const Lifetime& life) { bytes += life.bytes, cpu += life.cpu(); }
  };

  void sort_out();
  void pool_or_singles(int group, const std::vector<const Lifetime*>& members);
  const Lifetime* find_main() const;
  void place(const Lifetime& life, const Lifetime* main, bool has_children);
  double cpu_share(const Lifetime& life) const { return all_.cpu > 0 ? life.cpu() / all_.cpu : 0; }

  const History& history_;
  Roles roles_;
  std::vector<const Lifetime*> singles_;
  std::map<int, std::vector<const Lifetime*>> by_group_;
  Use all_, pooled_;
};

void RoleFinder::sort_out() {
  for (const auto& [id, life] : history_.processes()) {
    all_.add(life);
    if (came_and_went(life, history_)) {
      roles_.role[id] = ProcessRole::short_lived;
      roles_.explanation[id] = fmt::format("short-lived: {} at most, lived {}", format_bytes(life.peak),
                                           format_duration(life.life()));
    } else if (life.group >= 0 && history_.groups()[size_t(life.group)].most_alive >= 2) {
      by_group_[life.group].push_back(&life);
    } else {
      singles_.push_back(&life);
    }
  }
}

// Siblings of one name are a pool only if they are alike in size, but for the odd one that grows.
void RoleFinder::pool_or_singles(int group, const std::vector<const Lifetime*>& members) {
  std::vector<uint64_t> sizes;
  for (const Lifetime* life : members) sizes.push_back(std::max<uint64_t>(life->rss, 1));
  const uint64_t middle = median(sizes);
  const size_t alike = size_t(std::count_if(
      sizes.begin(), sizes.end(), [&](uint64_t size) { return size < 3 * middle && middle < 3 * size; }));
  if (members.size() < 2 || alike * 3 < members.size() * 2) {
    singles_.insert(singles_.end(), members.begin(), members.end());
    return;
  }
  WorkerPool pool{
      .group = group, .members = {}, .explanation = describe_pool(members, history_.groups()[size_t(group)])};
  for (const Lifetime* life : members) {
    pool.members.push_back(life->id);
    roles_.role[life->id] = ProcessRole::worker;
    pooled_.add(*life);
  }
  roles_.pools.push_back(std::move(pool));
}

// The one that uses most, in memory and processor together.
const Lifetime* RoleFinder::find_main() const {
  const auto weight = [&](const Lifetime* life) {
    return double(life->bytes) / double(std::max<uint64_t>(all_.bytes, 1)) + cpu_share(*life);
  };
  const Lifetime* main = nullptr;
  for (const Lifetime* life : singles_)
    if (!main || weight(life) > weight(main)) main = life;
  // Where a pool does the work (one process a device), a parent that only waits is no main process.
  if (main && pooled_.bytes > 9 * main->bytes && pooled_.cpu > 9 * main->cpu()) return nullptr;
  return main;
}

void RoleFinder::place(const Lifetime& life, const Lifetime* main, bool has_children) {
  const std::string use =
      fmt::format("{}, {:.0f} % of the tree's CPU time", format_bytes(life.bytes), 100 * cpu_share(life));
  const uint64_t busiest = std::max<uint64_t>({main ? main->bytes : 0, pooled_.bytes, 1});
  if (&life == main) {
    roles_.role[life.id] = ProcessRole::main;
    roles_.explanation[life.id] = "main: " + use;
  } else if (has_children && life.bytes * 4 < busiest && cpu_share(life) < 0.1) {
    roles_.role[life.id] = ProcessRole::wrapper;
    roles_.explanation[life.id] = "wrapper: " + use + ", waits for its children";
  } else {
    roles_.role[life.id] = ProcessRole::other;
    roles_.explanation[life.id] = "other: " + use;
  }
}

}  // namespace

Roles find_roles(const History& history) { return RoleFinder(history).find(); }

}  // namespace plimsoll::diagnose
