// The floor of a series: one low value for each of a few dozen equal intervals of time, each longer than the
// period of any saw-tooth, and the spikes above it.
#pragma once
#include <span>
#include <vector>

#include "verdict/compact.hpp"

namespace plimsoll::verdict {

struct FloorPoint {
  double time;
  double bytes;
};

struct Floor {
  std::vector<FloorPoint> points;
  double period = 0;  // seconds; 0: no periodicity found
};

// The dominant period shorter than a sixth of the series, by autocorrelation of what remains after a moving
// mean; 0: none.
double dominant_period(std::span<const Bucket> buckets);
// At most `most` points; fewer where the period or the number of samples asks for longer stretches.
std::vector<FloorPoint> floor_points(std::span<const Bucket> buckets, double period, size_t most);

struct SpikePoint {
  double time;    // of its top
  double bytes;   // at its top
  double height;  // above the floor there
};

std::vector<SpikePoint> spike_points(std::span<const Bucket> buckets, std::span<const FloorPoint> floor);
Spikes find_spikes(std::span<const Bucket> buckets, std::span<const FloorPoint> floor,
                   std::span<const Phase> phases);

}  // namespace plimsoll::verdict
