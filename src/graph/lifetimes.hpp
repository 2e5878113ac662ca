// When each storage of a list is alive, and what it is to the list's leaves and lanes.
#pragma once
#include <cstdint>
#include <vector>

#include "graph/graph.hpp"
#include "graph/plan.hpp"

namespace plimsoll {

inline uint64_t aligned(uint64_t bytes) {
  return (bytes + plan_alignment - 1) / plan_alignment * plan_alignment;
}

// What a value is to a list whose loop has several leaves.
enum class Part : uint8_t {
  lane,    // lives inside the loop: one copy per lane
  handed,  // written in the loop, read after it: one copy per leaf, added up
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

// The storages of one list. Views count as touches of their base; an output that takes over a dying input joins its
// storage. Says in `at` which list a value belongs to and which storage holds it.
std::vector<Interval> lifetimes(const Graph& graph, int list_index, std::vector<Place>& at);

}  // namespace plimsoll
