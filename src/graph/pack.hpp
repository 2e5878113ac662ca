// Packs the lifetimes of a list's storages into offsets, as low as they go.
#pragma once
#include <cstdint>
#include <vector>

#include "graph/lifetimes.hpp"
#include "graph/plan.hpp"

namespace plimsoll {

// The most bytes held at any node, and the node `when` that is so.
uint64_t peak(const std::vector<Interval>& intervals, int& when);

// Gives every interval its offset; returns the height. `bound` is peak(): packing stops when it is met.
uint64_t pack(std::vector<Interval>& intervals, uint64_t bound, Effort effort);

// Lays out a list whose loop has several leaves: areas of what is handed on, then the lanes' own regions, whose place the
// nodes after the loop use again. Returns the height.
uint64_t pack_lanes(std::vector<Interval>& intervals, uint64_t leaves, uint64_t lanes, Effort effort,
                    Handed& handed);

}  // namespace plimsoll
