#include "train/own_floor.hpp"

#include <algorithm>
#include <limits>

namespace plimsoll {

void OwnFloor::see(double time, uint64_t iteration, uint64_t bytes) {
  ++steps_;
  series_.add(time, bytes);
  marks_.see(time, double(iteration));
}

bool OwnFloor::suspicious(double bytes_per_step) {
  if (steps_ < next_look_) return false;
  next_look_ = steps_ + steps_ / 4;
  auto low = [&](size_t begin, size_t end) {
    uint64_t least = UINT64_MAX;
    for (size_t i = begin; i < end; ++i) least = std::min(least, series_[i].low);
    return double(least);
  };
  const size_t size = series_.size();
  const double early = low(0, size / 4), late = low(size - size / 4, size);
  const double share = verdict::Options{}.matter_fraction;
  // A floor that rises evenly rises by half to three quarters of the steps between the two minima.
  return late > early * (1 + share) && late - early > bytes_per_step * double(steps_) / 2;
}

verdict::Verdict OwnFloor::judge(double limit_bytes) const {
  verdict::Options options;
  options.limit_bytes = limit_bytes;
  options.steps = marks_.marks();
  return verdict::judge(verdict::samples_of(series_, std::numeric_limits<double>::infinity()), options);
}

}  // namespace plimsoll
