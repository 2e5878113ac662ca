// Compares two runs: memory at the floor and at the peak, speed, and final loss.
#pragma once
#include <string>

#include "report/run_data.hpp"

namespace plimsoll::report {

struct Difference {
  // B's over A's; NaN where either is not known.
  double floor_ratio = unknown_real, peak_ratio = unknown_real, speed_ratio = unknown_real;
  double loss_difference = unknown_real;  // B's last validation loss less A's
  std::string sentence;                   // "B uses 41 % less at the floor, 1.08x slower."
};

Difference compare(const RunData& a, const RunData& b);

// Steps a second, the median of what was recorded, or from the first and last step; NaN: no steps.
double speed_of(const RunData& data);

}  // namespace plimsoll::report
