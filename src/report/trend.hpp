// What is drawn beside the memory of a run: its low-water floor, the straight line the verdict fits to it with the
// band in which that line lies at 95 %, and the spikes that stand out.
#pragma once
#include <vector>

#include "report/run_data.hpp"
#include "verdict/floor.hpp"

namespace plimsoll::report {

struct BandPoint {
  double time, low, bytes, high;
};

struct Trend {
  std::vector<verdict::FloorPoint> floor;
  std::vector<BandPoint> band;              // from the onset to the end; empty where there is no verdict
  std::vector<verdict::SpikePoint> spikes;  // the highest ones, in order of time
};

Trend trend_of(const RunData& data);

}  // namespace plimsoll::report
