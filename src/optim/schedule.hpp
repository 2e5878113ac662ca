// The learning rate as a pure function of the step: linear warm-up, then half a cosine down to the minimum.
#pragma once
#include <cmath>
#include <cstdint>
#include <numbers>

namespace plimsoll {

struct Schedule {
  double peak, minimum;
  uint64_t warmup, steps;

  // For the step that follows `done` finished ones.
  double at(uint64_t done) const {
    if (done < warmup) return peak * static_cast<double>(done + 1) / static_cast<double>(warmup);
    if (done >= steps || steps <= warmup) return minimum;
    const double way = static_cast<double>(done - warmup) / static_cast<double>(steps - warmup);
    return minimum + 0.5 * (peak - minimum) * (1 + std::cos(std::numbers::pi * way));
  }
};

}  // namespace plimsoll
