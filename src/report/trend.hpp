// What is drawn with the memory of a run: its floor, the line the verdict fits to it with its 95 % band, and
// the highest spikes.
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
