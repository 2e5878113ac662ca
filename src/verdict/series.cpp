#include "verdict/series.hpp"

namespace plimsoll::verdict {

std::vector<Sample> samples_of(const Series& series, double until) {
  std::vector<Sample> samples;
  samples.reserve(2 * series.size());
  for (size_t i = 0; i < series.size(); ++i) {
    const Series::Stretch& stretch = series[i];
    if (stretch.begin > until) break;
    samples.push_back({stretch.begin, double(stretch.low)});
    if (stretch.end > stretch.begin) samples.push_back({stretch.end, double(stretch.high)});
  }
  return samples;
}

}  // namespace plimsoll::verdict
