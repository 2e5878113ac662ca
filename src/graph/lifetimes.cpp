#include "graph/lifetimes.hpp"

#include <algorithm>
#include <utility>

namespace plimsoll {
namespace {

struct Touch {
  int first = -1, last = -1;
  bool in_loop = false, after_loop = false, written_in_loop = false, reduced = false;
};

int nodes_in_loop(const List& list) { return list.repeats > 1 ? static_cast<int>(list.loop_end) : 0; }

// Which nodes read or write each storage.
std::vector<Touch> touches(const Graph& graph, const List& list) {
  const int loop_end = nodes_in_loop(list);
  std::vector<Touch> touch(graph.values().size());
  for (int n = 0; n < static_cast<int>(list.nodes().size()); ++n) {
    const Node& node = list.nodes()[static_cast<size_t>(n)];
    std::vector<ValueId> read = node.in;
    if (node.when.count != no_value) read.push_back(node.when.count);
    for (const auto* ids : {&std::as_const(read), &node.out})
      for (ValueId id : *ids) {
        Touch& t = touch[static_cast<size_t>(graph.owner(id))];
        if (t.first < 0) t.first = n;
        t.last = n;
        if (n >= loop_end && !t.after_loop) t.reduced = node.op->cost() == Cost::exchange;
        (n < loop_end ? t.in_loop : t.after_loop) = true;
        t.written_in_loop |= n < loop_end && ids == &node.out;
      }
  }
  return touch;
}

// Stretches the touches to what a value's Keep and the loop ask for.
void extend(std::vector<Touch>& touch, const Graph& graph, const List& list) {
  const int count = static_cast<int>(list.nodes().size()), loop_end = nodes_in_loop(list);
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
}

// Lets outputs take over the storage of inputs that die at their node, where the op allows it.
void take_over(std::vector<Touch>& touch, const Graph& graph, const List& list, std::vector<Place>& at) {
  auto takes_part = [](const Value& value) { return value.keep == Keep::touched && value.base == no_value; };
  for (int n = 0; n < static_cast<int>(list.nodes().size()); ++n) {
    const Node& node = list.nodes()[static_cast<size_t>(n)];
    for (size_t o = 0; o < node.out.size(); ++o) {
      const int from = node.op->in_place(static_cast<int>(o));
      if (from < 0 || from >= static_cast<int>(node.in.size())) continue;
      const ValueId out = node.out[o], in = node.in[static_cast<size_t>(from)];
      if (out == in || !takes_part(graph[out]) || !takes_part(graph[in])) continue;
      const Touch& made = touch[static_cast<size_t>(out)];
      const ValueId held_by = at[static_cast<size_t>(in)].storage;
      const ValueId storage = held_by == no_value ? in : held_by;
      Touch& dying = touch[static_cast<size_t>(storage)];
      const bool fits = aligned(graph[out].type.bytes()) == aligned(graph[in].type.bytes());
      if (made.first != n || dying.last != n || !fits) continue;
      at[static_cast<size_t>(out)].storage = storage;
      dying.last = made.last;
      dying.first = std::min(dying.first, made.first);
    }
  }
}

Part part_of(const Touch& touch, const List& list) {
  const int loop_end = nodes_in_loop(list);
  if (list.leaves().count == 1 || touch.first >= loop_end) return Part::rest;
  if (touch.last < loop_end) return Part::lane;
  return touch.written_in_loop ? Part::handed : Part::kept;
}

}  // namespace

std::vector<Interval> lifetimes(const Graph& graph, int list_index, std::vector<Place>& at) {
  const List& list = graph.lists()[static_cast<size_t>(list_index)];
  std::vector<Touch> touch = touches(graph, list);
  extend(touch, graph, list);
  take_over(touch, graph, list, at);
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
    const Part part = part_of(touch[i], list);
    if (part == Part::handed && !touch[i].reduced)
      fail(
          "[plan] {} is handed on by {} leaves and nothing adds it up; emit ops::reduce_lanes() after the "
          "loop",
          value.name, list.leaves().count);
    intervals.push_back({place.storage, touch[i].first, touch[i].last, aligned(value.type.bytes()), part,
                         part == Part::handed                      ? list.leaves().count
                         : part == Part::rest || !touch[i].in_loop ? 1
                                                                   : list.lanes});
  }
  return intervals;
}

}  // namespace plimsoll
