#include "verdict/series.hpp"

#include <algorithm>

namespace plimsoll::verdict {

void Series::add(double seconds, uint64_t bytes) {
  ++values_;
  if (used_ > 0 && in_last_ < per_bucket_) {
    Bucket& last = buckets_[used_ - 1];
    last.end = float(seconds);
    last.low = std::min(last.low, bytes);
    last.high = std::max(last.high, bytes);
    ++in_last_;
    return;
  }
  if (used_ == buckets_.size()) {
    size_t half = used_ / 2;
    for (size_t i = 0; i < half; ++i) {
      const Bucket &a = buckets_[2 * i], &b = buckets_[2 * i + 1];
      buckets_[i] = {a.begin, b.end, std::min(a.low, b.low), std::max(a.high, b.high)};
    }
    if (used_ % 2) buckets_[half] = buckets_[used_ - 1];
    used_ = half + used_ % 2;
    per_bucket_ *= 2;
  }
  buckets_[used_++] = {float(seconds), float(seconds), bytes, bytes};
  in_last_ = 1;
}

std::vector<Sample> samples_of(const Series& series, double until) {
  std::vector<Sample> samples;
  samples.reserve(2 * series.size());
  for (size_t i = 0; i < series.size(); ++i) {
    const Series::Bucket& bucket = series[i];
    if (bucket.begin > until) break;
    samples.push_back({bucket.begin, double(bucket.low)});
    if (bucket.end > bucket.begin) samples.push_back({bucket.end, double(bucket.high)});
  }
  return samples;
}

}  // namespace plimsoll::verdict
