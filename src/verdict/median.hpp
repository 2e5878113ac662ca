// The upper median; `values` must not be empty.
#pragma once
#include <algorithm>
#include <vector>

namespace plimsoll::verdict {

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + long(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace plimsoll::verdict
