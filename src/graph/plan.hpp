// Assigns every value of a graph a place in one mapping before anything runs.
//
//   Plan plan = make_plan(graph, threads);       // pure: no memory is touched
//   plan.total                                   // bytes of the mapping, scratch included
//   plan.lower_bound                             // most bytes live at any node: no plan can be smaller
//   plan.at[value].offset                        // where the value lives while it lives
//
// Persistent values come first, then a region shared by the lists (only one runs at a time), then per-thread scratch.
// Within a list, two values share bytes when their lifetimes do not meet; an output takes over a dying input where the
// op allows it. Where a list's loop has several leaves, what one lane writes never shares bytes with another's: first come
// the values handed to the rest of the list, an area per leaf, then what lives only inside the loop, a region per lane.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "graph/graph.hpp"

namespace plimsoll {

constexpr uint64_t plan_alignment = 64;

struct Place {
  uint64_t offset = 0, bytes = 0;
  int list = -1;            // -1: persistent
  int first = 0, last = 0;  // nodes between which the bytes are held (inclusive)
  ValueId storage =
      no_value;  // the value that holds the bytes: itself, the base of a view, or the input it took over
  uint64_t lane_stride = 0;  // from one copy to the next; 0: there is one
  int copies = 1;            // as many as leaves or as lanes; leaf n has copy n mod copies

  uint64_t of_lane(int leaf) const { return offset + lane_stride * static_cast<uint64_t>(leaf % copies); }
};

// What a list's loop hands on, as one contiguous area per leaf: added up by one pass over memory.
struct Handed {
  uint64_t offset = 0, bytes = 0;
};

struct Plan {
  std::vector<Place> at;  // by value
  uint64_t total = 0, lower_bound = 0;
  uint64_t persistent = 0;  // bytes that never change hands
  uint64_t transient = 0;   // bytes shared by the lists
  uint64_t scratch_offset = 0, scratch_per_thread = 0;
  int threads = 1;
  std::vector<Handed> handed;  // by list; empty where the loop has one leaf
  std::array<uint64_t, role_count>
      by_role{};  // bytes at the moment of the largest total, adding up to lower_bound
  std::array<uint64_t, dtype_count> by_dtype{};  // the same bytes by what they hold
};

// With Effort::quick one order of packing is tried: for comparing many graphs.
enum class Effort { quick, full };
Plan make_plan(const Graph& graph, int threads, Effort effort = Effort::full);

// The invariant: no two values that are alive at the same node share a byte. Empty when it holds, else what breaks it.
std::string find_overlap(const Graph& graph, const Plan& plan);

// Time on the horizontal axis, offsets on the vertical axis, one rectangle per value.
std::string plan_svg(const Graph& graph, const Plan& plan);

}  // namespace plimsoll
