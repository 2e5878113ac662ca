#include "graph/plan.hpp"

#include <algorithm>

#include "graph/lifetimes.hpp"
#include "graph/pack.hpp"

namespace plimsoll {
namespace {

void place_persistent(const Graph& graph, Plan& plan) {
  for (size_t i = 0; i < graph.values().size(); ++i) {
    const Value& value = graph.values()[i];
    if (value.keep != Keep::forever || value.base != no_value) continue;
    plan.at[i] = {plan.persistent, value.type.bytes(), -1, 0, 0, static_cast<ValueId>(i)};
    plan.persistent += aligned(value.type.bytes());
    plan.by_role[static_cast<size_t>(value.role)] += aligned(value.type.bytes());
    plan.by_dtype[static_cast<size_t>(value.type.dtype)] += aligned(value.type.bytes());
  }
}

uint64_t scratch_of(const Graph& graph, const List& list) {
  uint64_t most = 0;
  for (const Node& node : list.nodes()) {
    std::vector<Type> in, out;
    for (ValueId id : node.in) in.push_back(graph[id].type);
    for (ValueId id : node.out) out.push_back(graph[id].type);
    most = std::max<uint64_t>(most, aligned(node.op->scratch(in, out) * sizeof(float)));
  }
  return most;
}

// What is alive at the fullest node of a list.
struct Live {
  uint64_t bytes = 0;
  std::array<uint64_t, role_count> by_role{};
  std::array<uint64_t, dtype_count> by_dtype{};
};

Live fullest(const Graph& graph, const std::vector<Interval>& intervals) {
  Live live;
  int when = 0;
  live.bytes = peak(intervals, when);
  for (const Interval& i : intervals)
    if (i.first <= when && when <= i.last) {
      live.by_role[static_cast<size_t>(graph[i.id].role)] += i.held();
      live.by_dtype[static_cast<size_t>(graph[i.id].type.dtype)] += i.held();
    }
  return live;
}

// Views and outputs that took over an input lie where their storage does.
void place_sharers(const Graph& graph, Plan& plan) {
  for (size_t i = 0; i < graph.values().size(); ++i) {
    const ValueId id = static_cast<ValueId>(i), owner = graph.owner(id);
    const ValueId storage = plan.at[static_cast<size_t>(owner)].storage;
    if (storage == no_value || storage == id) continue;
    const Place& root = plan.at[static_cast<size_t>(storage)];
    plan.at[i] = {root.offset + graph.owner_offset(id),
                  graph[id].type.bytes(),
                  root.list,
                  root.first,
                  root.last,
                  storage,
                  root.lane_stride,
                  root.copies};
  }
}

}  // namespace

Plan make_plan(const Graph& graph, int threads, Effort effort) {
  Plan plan;
  plan.threads = threads;
  plan.at.resize(graph.values().size());
  place_persistent(graph, plan);
  Live most;
  for (size_t l = 0; l < graph.lists().size(); ++l) {
    const List& list = graph.lists()[l];
    std::vector<Interval> intervals = lifetimes(graph, static_cast<int>(l), plan.at);
    const Live live = fullest(graph, intervals);
    if (live.bytes > most.bytes) most = live;
    Handed handed{plan.persistent, 0};
    const auto leaves = static_cast<uint64_t>(list.leaves().count);
    const uint64_t height =
        leaves == 1 ? pack(intervals, live.bytes, effort)
                    : pack_lanes(intervals, leaves, static_cast<uint64_t>(list.lanes), effort, handed);
    plan.transient = std::max(plan.transient, height);
    plan.handed.push_back(handed);
    plan.scratch_per_thread = std::max(plan.scratch_per_thread, scratch_of(graph, list));
    for (const Interval& i : intervals)
      plan.at[static_cast<size_t>(i.id)] = {
          plan.persistent + i.offset, i.bytes, static_cast<int>(l), i.first, i.last, i.id, i.stride,
          i.stride ? i.copies : 1};
  }
  place_sharers(graph, plan);
  for (size_t r = 0; r < role_count; ++r) plan.by_role[r] += most.by_role[r];
  for (size_t d = 0; d < dtype_count; ++d) plan.by_dtype[d] += most.by_dtype[d];
  const uint64_t scratch = plan.scratch_per_thread * static_cast<uint64_t>(threads);
  plan.by_role[static_cast<size_t>(Role::scratch)] += scratch;
  plan.by_dtype[static_cast<size_t>(DType::f32)] += scratch;
  plan.scratch_offset = plan.persistent + plan.transient;
  plan.total = plan.scratch_offset + scratch;
  plan.lower_bound = plan.persistent + most.bytes + scratch;
#ifndef NDEBUG
  if (const std::string broken = find_overlap(graph, plan); !broken.empty()) fail("[plan] {}", broken);
#endif
  return plan;
}

}  // namespace plimsoll
