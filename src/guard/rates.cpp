#include "guard/rates.hpp"

#include <algorithm>

namespace plimsoll::guard {

void Rates::add(double time, uint64_t used) {
  const double bytes = double(used);
  if (count_ == 0) slot_begin_ = time, low_[0] = bytes, filled_ = 1;
  const double last = count_ ? back(0).used : bytes;
  points_[next_] = {time, bytes};
  next_ = (next_ + 1) % recent;
  count_ = std::min(count_ + 1, recent);
  // Stretches without a reading hold what was read before them.
  for (size_t n = 0; time - slot_begin_ >= slot_seconds; ++n) {
    if (n == slots) {
      slot_begin_ = time;
      break;
    }
    slot_begin_ += slot_seconds;
    if (filled_ == slots)
      std::move(low_.begin() + 1, low_.end(), low_.begin());
    else
      ++filled_;
    low_[filled_ - 1] = last;
  }
  low_[filled_ - 1] = std::min(low_[filled_ - 1], bytes);
}

double Rates::fast() const {
  // Shorter spans would take a single huge page for a flood.
  constexpr double window = 0.050, least = 0.003;
  if (count_ < 2) return 0;
  const Point& now = back(0);
  size_t n = 1;
  while (n + 1 < count_ && (now.time - back(n).time < least || now.time - back(n + 1).time <= window)) ++n;
  const double span = now.time - back(n).time;
  return span >= least ? std::max(0.0, (now.used - back(n).used) / span) : 0;
}

double Rates::floor() const {
  if (filled_ < slots) return 0;
  constexpr size_t third = slots / 3;
  auto low = [&](size_t from) { return *std::min_element(low_.begin() + from, low_.begin() + from + third); };
  const double first = low(0), middle = low(third), last = low(2 * third), rise = last - first;
  if (rise <= 0 || middle - first < rise / 4 || last - middle < rise / 4) return 0;
  return rise / (2 * third * slot_seconds);
}

}  // namespace plimsoll::guard
