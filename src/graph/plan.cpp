#include "graph/plan.hpp"

#include <algorithm>
#include <numeric>

#include "base/random.hpp"

namespace plimsoll {
namespace {

uint64_t aligned(uint64_t bytes) { return (bytes + plan_alignment - 1) / plan_alignment * plan_alignment; }

// What a value is to a list whose loop runs in lanes.
enum class Part : uint8_t {
  lane,    // lives inside the loop: one copy per lane
  handed,  // written in the loop, read after it: one copy per lane, added up
  kept,    // an input that lives through the loop and beyond: one copy per lane if the loop reads it
  rest     // lives after the loop, where the lanes' copies were
};

struct Interval {
  ValueId id;
  int first, last;
  uint64_t bytes;
  Part part = Part::rest;
  int copies = 1;
  uint64_t offset = 0, stride = 0;

  uint64_t held() const { return bytes * static_cast<uint64_t>(copies); }
};

// When each storage of one list is alive. Views count as touches of their base; an output that takes over a dying
// input joins its storage.
std::vector<Interval> lifetimes(const Graph& graph, int list_index, std::vector<Place>& at) {
  const List& list = graph.lists()[static_cast<size_t>(list_index)];
  const int count = static_cast<int>(list.nodes().size());
  const int loop_end = list.repeats > 1 ? static_cast<int>(list.loop_end) : 0;
  struct Touch {
    int first = -1, last = -1;
    bool in_loop = false, after_loop = false, written_in_loop = false, reduced = false;
  };
  std::vector<Touch> touch(graph.values().size());
  for (int n = 0; n < count; ++n) {
    const Node& node = list.nodes()[static_cast<size_t>(n)];
    for (const auto* ids : {&node.in, &node.out})
      for (ValueId id : *ids) {
        Touch& t = touch[static_cast<size_t>(graph.owner(id))];
        if (t.first < 0) t.first = n;
        t.last = n;
        if (n >= loop_end && !t.after_loop) t.reduced = node.op->cost() == Cost::exchange;
        (n < loop_end ? t.in_loop : t.after_loop) = true;
        t.written_in_loop |= n < loop_end && ids == &node.out;
      }
  }
  for (size_t i = 0; i < touch.size(); ++i) {
    Touch& t = touch[i];
    const Keep keep = graph.values()[i].keep;
    if (t.first < 0) continue;
    if (keep == Keep::from_start || keep == Keep::list) t.first = 0;
    if (keep == Keep::to_end || keep == Keep::list) t.last = count - 1;
    // What the loop hands to the nodes after it is added up over the repeats: alive through all of them.
    if (t.in_loop && (t.after_loop || keep == Keep::to_end)) t.first = 0;
    // The input of the loop is filled anew for every repeat.
    if (t.in_loop && keep == Keep::from_start) t.last = std::max(t.last, loop_end - 1);
  }
  // Take over dying inputs.
  for (int n = 0; n < count; ++n) {
    const Node& node = list.nodes()[static_cast<size_t>(n)];
    for (size_t o = 0; o < node.out.size(); ++o) {
      const int from = node.op->in_place(static_cast<int>(o));
      if (from < 0 || from >= static_cast<int>(node.in.size())) continue;
      const ValueId out = node.out[o], in = node.in[static_cast<size_t>(from)];
      const Value &a = graph[out], &b = graph[in];
      if (out == in || a.keep != Keep::touched || b.keep != Keep::touched || a.base != no_value ||
          b.base != no_value)
        continue;
      const Touch& made = touch[static_cast<size_t>(out)];
      const ValueId storage =
          at[static_cast<size_t>(in)].storage == no_value ? in : at[static_cast<size_t>(in)].storage;
      Touch& dying = touch[static_cast<size_t>(storage)];
      if (made.first != n || dying.last != n || aligned(a.type.bytes()) != aligned(b.type.bytes())) continue;
      at[static_cast<size_t>(out)].storage = storage;
      dying.last = made.last;
      dying.first = std::min(dying.first, made.first);
    }
  }
  std::vector<Interval> intervals;
  for (size_t i = 0; i < touch.size(); ++i) {
    const Value& value = graph.values()[i];
    if (touch[i].first < 0 || value.keep == Keep::forever || value.base != no_value) continue;
    Place& place = at[i];
    if (place.list >= 0 && place.list != list_index)
      fail("[plan] {} belongs to two lists but is not kept forever", value.name);
    place.list = list_index;
    if (place.storage != no_value) continue;
    place.storage = static_cast<ValueId>(i);
    const Touch& t = touch[i];
    Part part = Part::rest;
    if (list.lanes > 1 && t.first < loop_end)
      part = t.last < loop_end ? Part::lane : t.written_in_loop ? Part::handed : Part::kept;
    if (part == Part::handed && !t.reduced)
      fail(
          "[plan] {} is handed on by {} lanes and nothing adds it up; emit ops::reduce_lanes() after the "
          "loop",
          value.name, list.lanes);
    intervals.push_back({static_cast<ValueId>(i), t.first, t.last, aligned(value.type.bytes()), part,
                         part == Part::rest || !t.in_loop ? 1 : list.lanes});
  }
  return intervals;
}

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

// Tries several orders, then disturbs the best one, until the bound is met or the tries are used up.
uint64_t pack(std::vector<Interval>& intervals, uint64_t bound, Effort effort) {
  if (intervals.empty()) return 0;
  std::vector<int> order(intervals.size());
  std::iota(order.begin(), order.end(), 0);
  auto by = [&](auto key) {
    std::vector<int> sorted = order;
    std::stable_sort(sorted.begin(), sorted.end(), [&](int a, int b) {
      return key(intervals[static_cast<size_t>(a)]) > key(intervals[static_cast<size_t>(b)]);
    });
    return sorted;
  };
  auto length = [](const Interval& i) { return double(i.last - i.first + 1); };
  std::vector<std::vector<int>> candidates = {
      by([](const Interval& i) { return double(i.bytes); }),
      by([&](const Interval& i) { return double(i.bytes) * length(i); }),
      by([&](const Interval& i) { return length(i) * 1e6 + double(i.bytes) * 1e-6; }),
      by([](const Interval& i) { return -double(i.first); }),
  };
  if (effort == Effort::quick) candidates.resize(1);
  std::vector<int> best_order;
  uint64_t best = UINT64_MAX;
  for (auto& candidate : candidates)
    if (const uint64_t height = place(intervals, candidate); height < best)
      best = height, best_order = candidate;
  const CounterRng rng(1, Stream::shuffle);
  const uint64_t tries =
      effort == Effort::quick
          ? 0
          : std::min<uint64_t>(400, 40'000'000 / (intervals.size() * intervals.size() + 1));
  for (uint64_t t = 0; t < tries && best > bound; ++t) {
    std::vector<int> changed = best_order;
    for (uint64_t s = 0; s < 1 + t % 4; ++s) {  // move a few intervals to the front part of the order
      const size_t from = rng.below(t * 8 + s, changed.size()), to = rng.below(t * 8 + s + 4, from + 1);
      std::rotate(changed.begin() + static_cast<long>(to), changed.begin() + static_cast<long>(from),
                  changed.begin() + static_cast<long>(from) + 1);
    }
    if (const uint64_t height = place(intervals, changed); height <= best)
      best = height, best_order = std::move(changed);
  }
  return place(intervals, best_order);
}

// Lays out a list whose loop runs in lanes: blocks of what is handed on, then the lanes' own regions, whose place the
// nodes after the loop use again. Returns the height.
uint64_t pack_lanes(std::vector<Interval>& intervals, uint64_t lanes, Effort effort, Handed& handed) {
  std::vector<Interval> own, rest, through;
  for (Interval& i : intervals) {
    if (i.part == Part::handed) i.offset = handed.bytes, handed.bytes += i.bytes;
    (i.part == Part::lane ? own : i.part == Part::rest ? rest : through).push_back(i);
  }
  uint64_t height = handed.bytes * lanes;
  for (Interval& i : through) {
    i.stride = i.part == Part::handed ? handed.bytes : i.copies > 1 ? i.bytes : 0;
    if (i.part == Part::kept) i.offset = height, height += i.held();
  }
  for (Interval& i : own) i.copies = 1;
  int when = 0;
  const uint64_t region = pack(own, peak(own, when), effort), after = pack(rest, peak(rest, when), effort);
  for (Interval& i : own) i.stride = region;
  intervals = std::move(through);
  for (auto* group : {&own, &rest})
    for (Interval& i : *group) {
      i.offset += height;
      intervals.push_back(i);
    }
  return height + std::max(region * lanes, after);
}

}  // namespace

Plan make_plan(const Graph& graph, int threads, Effort effort) {
  Plan plan;
  plan.threads = threads;
  plan.at.resize(graph.values().size());
  for (size_t i = 0; i < graph.values().size(); ++i) {
    const Value& value = graph.values()[i];
    if (value.keep != Keep::forever || value.base != no_value) continue;
    plan.at[i] = {plan.persistent, value.type.bytes(), -1, 0, 0, static_cast<ValueId>(i)};
    plan.persistent += aligned(value.type.bytes());
    plan.by_role[static_cast<size_t>(value.role)] += aligned(value.type.bytes());
    plan.by_dtype[static_cast<size_t>(value.type.dtype)] += aligned(value.type.bytes());
  }
  uint64_t most_live = 0;
  std::array<uint64_t, role_count> live_roles{};
  std::array<uint64_t, dtype_count> live_dtypes{};
  for (size_t l = 0; l < graph.lists().size(); ++l) {
    auto intervals = lifetimes(graph, static_cast<int>(l), plan.at);
    int when = 0;
    const int lanes = graph.lists()[l].lanes;
    const uint64_t bound = peak(intervals, when);
    if (bound > most_live || l == 0) {
      most_live = bound;
      live_roles = {};
      live_dtypes = {};
      for (const Interval& i : intervals)
        if (i.first <= when && when <= i.last) {
          live_roles[static_cast<size_t>(graph[i.id].role)] += i.held();
          live_dtypes[static_cast<size_t>(graph[i.id].type.dtype)] += i.held();
        }
    }
    Handed handed{plan.persistent, 0};
    plan.transient = std::max(
        plan.transient, lanes == 1 ? pack(intervals, bound, effort)
                                   : pack_lanes(intervals, static_cast<uint64_t>(lanes), effort, handed));
    plan.handed.push_back(handed);
    for (const Interval& i : intervals)
      plan.at[static_cast<size_t>(i.id)] = {
          plan.persistent + i.offset, i.bytes, static_cast<int>(l), i.first, i.last, i.id, i.stride};
    for (const Node& node : graph.lists()[l].nodes()) {
      std::vector<Type> in, out;
      for (ValueId id : node.in) in.push_back(graph[id].type);
      for (ValueId id : node.out) out.push_back(graph[id].type);
      plan.scratch_per_thread =
          std::max<uint64_t>(plan.scratch_per_thread, aligned(node.op->scratch(in, out) * sizeof(float)));
    }
  }
  for (size_t i = 0; i < graph.values().size(); ++i) {
    Place& place = plan.at[i];
    const ValueId id = static_cast<ValueId>(i), owner = graph.owner(id);
    const ValueId storage = plan.at[static_cast<size_t>(owner)].storage;
    if (storage == no_value || storage == id) continue;
    const Place& root = plan.at[static_cast<size_t>(storage)];
    place = {root.offset + graph.owner_offset(id),
             graph[id].type.bytes(),
             root.list,
             root.first,
             root.last,
             storage,
             root.lane_stride};
  }
  for (size_t r = 0; r < role_count; ++r) plan.by_role[r] += live_roles[r];
  for (size_t d = 0; d < dtype_count; ++d) plan.by_dtype[d] += live_dtypes[d];
  const uint64_t scratch = plan.scratch_per_thread * static_cast<uint64_t>(threads);
  plan.by_role[static_cast<size_t>(Role::scratch)] += scratch;
  plan.by_dtype[static_cast<size_t>(DType::f32)] += scratch;
  plan.scratch_offset = plan.persistent + plan.transient;
  plan.total = plan.scratch_offset + scratch;
  plan.lower_bound = plan.persistent + most_live + scratch;
#ifndef NDEBUG
  if (const std::string broken = find_overlap(graph, plan); !broken.empty()) fail("[plan] {}", broken);
#endif
  return plan;
}

int copies(const Graph& graph, const Place& place) {
  return place.lane_stride ? graph.lists()[static_cast<size_t>(place.list)].lanes : 1;
}

namespace {

// Whether any lane's copy of `x` shares a byte with any lane's copy of `y`; with `across`, only copies of different lanes.
bool share_bytes(const Graph& graph, const Place& x, const Place& y, bool across) {
  for (int a = 0; a < copies(graph, x); ++a)
    for (int b = 0; b < copies(graph, y); ++b) {
      if (across && a == b) continue;
      const uint64_t p = x.of_lane(a), q = y.of_lane(b);
      if (p < q + y.bytes && q < p + x.bytes) return true;
    }
  return false;
}

}  // namespace

std::string find_overlap(const Graph& graph, const Plan& plan) {
  std::vector<ValueId> roots;
  for (size_t i = 0; i < plan.at.size(); ++i)
    if (plan.at[i].storage == static_cast<ValueId>(i)) roots.push_back(static_cast<ValueId>(i));
  for (size_t a = 0; a < roots.size(); ++a)
    for (size_t b = a + 1; b < roots.size(); ++b) {
      const Place &x = plan.at[static_cast<size_t>(roots[a])], &y = plan.at[static_cast<size_t>(roots[b])];
      const bool together =
          x.list < 0 || y.list < 0 || (x.list == y.list && x.first <= y.last && y.first <= x.last);
      // Lanes do not keep step: what two of them write must never meet.
      const bool apart = x.list >= 0 && x.list == y.list && x.lane_stride && y.lane_stride;
      if ((together && share_bytes(graph, x, y, false)) || (apart && share_bytes(graph, x, y, true)))
        return fmt::format("{} and {} are alive together and share bytes", graph[roots[a]].name,
                           graph[roots[b]].name);
    }
  for (ValueId id : roots) {
    const Place& place = plan.at[static_cast<size_t>(id)];
    if (place.of_lane(copies(graph, place) - 1) + place.bytes > plan.scratch_offset)
      return fmt::format("{} reaches beyond the plan", graph[id].name);
  }
  return {};
}

}  // namespace plimsoll
