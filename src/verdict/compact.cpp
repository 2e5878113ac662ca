#include "verdict/compact.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace plimsoll::verdict {
namespace {

// Beyond any memory and any clock; within, all that is computed later stays finite.
constexpr double most_bytes = 1e24, least_bytes = 1e-3, most_seconds = 1e15, least_seconds = 1e-9;

bool usable(const Sample& s) {
  return std::isfinite(s.time) && std::isfinite(s.bytes) && s.bytes >= 0 && s.bytes < most_bytes &&
         std::abs(s.time) < most_seconds;
}

}  // namespace

void Bucket::join(const Bucket& later) {
  std::array<double, 6> all;
  all.fill(std::numeric_limits<double>::infinity());
  std::copy_n(lowest.begin(), std::min<size_t>(count, 3), all.begin());
  std::copy_n(later.lowest.begin(), std::min<size_t>(later.count, 3), all.begin() + 3);
  std::partial_sort(all.begin(), all.begin() + 3, all.end());
  std::copy_n(all.begin(), 3, lowest.begin());
  highest = std::max(highest, later.highest);
  last_time = later.last_time;
  count += later.count;
}

void CompactSeries::add(Sample s) {
  if (!usable(s) || (samples_ > 0 && !(s.time - last_time() >= least_seconds))) {
    ++refused_;
    return;
  }
  ++samples_;
  if (s.bytes < least_bytes) s.bytes = 0;
  buckets_.add({s.time, s.time, {s.bytes, 0, 0}, s.bytes, 1});
}

std::vector<Sample> cleaned(std::span<const Sample> samples) {
  std::vector<Sample> out;
  out.reserve(samples.size());
  bool sorted = true;
  for (const Sample& s : samples)
    if (usable(s)) {
      sorted = sorted && (out.empty() || out.back().time < s.time);
      out.push_back(s);
    }
  if (sorted) return out;
  std::sort(out.begin(), out.end(), [](const Sample& a, const Sample& b) {
    return a.time != b.time ? a.time < b.time : a.bytes < b.bytes;
  });
  out.erase(
      std::unique(out.begin(), out.end(), [](const Sample& a, const Sample& b) { return a.time == b.time; }),
      out.end());
  return out;
}

}  // namespace plimsoll::verdict
