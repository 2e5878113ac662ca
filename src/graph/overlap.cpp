#include <vector>

#include "graph/plan.hpp"

namespace plimsoll {

namespace {

// Whether any lane's copy of `x` shares a byte with any lane's copy of `y`; with `across`, only copies of different lanes.
bool share_bytes(const Place& x, const Place& y, bool across) {
  for (int a = 0; a < x.copies; ++a)
    for (int b = 0; b < y.copies; ++b) {
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
      if ((together && share_bytes(x, y, false)) || (apart && share_bytes(x, y, true)))
        return fmt::format("{} and {} are alive together and share bytes", graph[roots[a]].name,
                           graph[roots[b]].name);
    }
  for (ValueId id : roots) {
    const Place& place = plan.at[static_cast<size_t>(id)];
    if (place.of_lane(place.copies - 1) + place.bytes > plan.scratch_offset)
      return fmt::format("{} reaches beyond the plan", graph[id].name);
  }
  return {};
}

}  // namespace plimsoll
