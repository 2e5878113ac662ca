#include "report/thin.hpp"

#include <algorithm>
#include <numeric>

namespace plimsoll::report {

std::vector<size_t> rows_to_show(size_t count, const Measure& time, const std::vector<Measure>& measures,
                                 size_t stretches) {
  std::vector<size_t> kept;
  if (count <= 2 * stretches * measures.size()) {
    kept.resize(count);
    std::iota(kept.begin(), kept.end(), size_t(0));
    return kept;
  }
  const double start = time(0), span = time(count - 1) - start;
  kept.push_back(0);
  for (size_t begin = 0, stretch = 0; begin < count; ++stretch) {
    const double until = start + span * double(stretch + 1) / double(stretches);
    size_t end = begin;
    while (end < count && (time(end) < until || stretch + 1 >= stretches)) ++end;
    for (const Measure& measure : measures) {
      size_t least = end, most = end;
      double low = 0, high = 0;
      for (size_t i = begin; i < end; ++i) {
        const double value = measure(i);
        if (std::isnan(value)) continue;
        if (least == end || value < low) least = i, low = value;
        if (most == end || value > high) most = i, high = value;
      }
      if (least < end) kept.push_back(least), kept.push_back(most);
    }
    begin = end;
  }
  kept.push_back(count - 1);
  std::sort(kept.begin(), kept.end());
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  return kept;
}

}  // namespace plimsoll::report
