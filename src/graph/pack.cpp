#include "graph/pack.hpp"

#include <algorithm>
#include <numeric>

#include "base/random.hpp"

namespace plimsoll {
namespace {

// Places the intervals in the given order, each at the lowest gap that fits; returns the height.
uint64_t place(std::vector<Interval>& intervals, const std::vector<int>& order) {
  std::vector<int> placed;  // by offset
  uint64_t height = 0;
  for (int index : order) {
    Interval& me = intervals[static_cast<size_t>(index)];
    uint64_t offset = 0;
    for (int other : placed) {
      const Interval& there = intervals[static_cast<size_t>(other)];
      if (there.last < me.first || me.last < there.first) continue;
      if (there.offset >= offset + me.bytes) break;
      offset = std::max(offset, there.offset + there.bytes);
    }
    me.offset = offset;
    height = std::max(height, offset + me.bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), index,
                                   [&](int a, int b) {
                                     return intervals[static_cast<size_t>(a)].offset <
                                            intervals[static_cast<size_t>(b)].offset;
                                   }),
                  index);
  }
  return height;
}

// The orders worth trying first.
std::vector<std::vector<int>> likely_orders(const std::vector<Interval>& intervals, Effort effort) {
  auto by = [&](auto key) {
    std::vector<int> order(intervals.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return key(intervals[static_cast<size_t>(a)]) > key(intervals[static_cast<size_t>(b)]);
    });
    return order;
  };
  auto length = [](const Interval& i) { return double(i.last - i.first + 1); };
  std::vector<std::vector<int>> orders = {by([](const Interval& i) { return double(i.bytes); })};
  if (effort == Effort::quick) return orders;
  orders.push_back(by([&](const Interval& i) { return double(i.bytes) * length(i); }));
  orders.push_back(by([&](const Interval& i) { return length(i) * 1e6 + double(i.bytes) * 1e-6; }));
  orders.push_back(by([](const Interval& i) { return -double(i.first); }));
  return orders;
}

// Moves a few intervals to the front part of the order, as the try's number says.
std::vector<int> disturbed(std::vector<int> order, const CounterRng& rng, uint64_t attempt) {
  for (uint64_t s = 0; s < 1 + attempt % 4; ++s) {
    const size_t from = rng.below(attempt * 8 + s, order.size()),
                 to = rng.below(attempt * 8 + s + 4, from + 1);
    std::rotate(order.begin() + static_cast<long>(to), order.begin() + static_cast<long>(from),
                order.begin() + static_cast<long>(from) + 1);
  }
  return order;
}

}  // namespace

uint64_t peak(const std::vector<Interval>& intervals, int& when) {
  int nodes = 0;
  for (const Interval& i : intervals) nodes = std::max(nodes, i.last + 1);
  std::vector<int64_t> change(static_cast<size_t>(nodes) + 1);
  for (const Interval& i : intervals) {
    change[static_cast<size_t>(i.first)] += static_cast<int64_t>(i.held());
    change[static_cast<size_t>(i.last) + 1] -= static_cast<int64_t>(i.held());
  }
  int64_t live = 0, most = 0;
  when = 0;
  for (size_t n = 0; n < change.size(); ++n)
    if ((live += change[n]) > most) most = live, when = static_cast<int>(n);
  return static_cast<uint64_t>(most);
}

// Tries several orders, then disturbs the best one, until the bound is met or the tries are used up.
uint64_t pack(std::vector<Interval>& intervals, uint64_t bound, Effort effort) {
  if (intervals.empty()) return 0;
  std::vector<int> best_order;
  uint64_t best = UINT64_MAX;
  for (std::vector<int>& order : likely_orders(intervals, effort))
    if (const uint64_t height = place(intervals, order); height < best)
      best = height, best_order = std::move(order);
  const CounterRng rng(1, Stream::shuffle);
  const uint64_t tries =
      effort == Effort::quick
          ? 0
          : std::min<uint64_t>(400, 40'000'000 / (intervals.size() * intervals.size() + 1));
  for (uint64_t t = 0; t < tries && best > bound; ++t) {
    std::vector<int> changed = disturbed(best_order, rng, t);
    if (const uint64_t height = place(intervals, changed); height <= best)
      best = height, best_order = std::move(changed);
  }
  return place(intervals, best_order);
}

uint64_t pack_lanes(std::vector<Interval>& intervals, uint64_t leaves, uint64_t lanes, Effort effort,
                    Handed& handed) {
  std::vector<Interval> own, rest, through;
  for (Interval& i : intervals) {
    if (i.part == Part::handed) i.offset = handed.bytes, handed.bytes += i.bytes;
    (i.part == Part::lane ? own : i.part == Part::rest ? rest : through).push_back(i);
  }
  uint64_t height = handed.bytes * leaves;
  for (Interval& i : through) {
    i.stride = i.part == Part::handed ? handed.bytes : i.copies > 1 ? i.bytes : 0;
    if (i.part == Part::kept) i.offset = height, height += i.held();
  }
  for (Interval& i : own) i.copies = 1;
  int when = 0;
  const uint64_t region = pack(own, peak(own, when), effort), after = pack(rest, peak(rest, when), effort);
  for (Interval& i : own) i.stride = region, i.copies = static_cast<int>(lanes);
  intervals = std::move(through);
  for (auto* group : {&own, &rest})
    for (Interval& i : *group) {
      i.offset += height;
      intervals.push_back(i);
    }
  return height + std::max(region * lanes, after);
}

}  // namespace plimsoll
