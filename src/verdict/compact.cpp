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

Bucket merged(const Bucket& a, const Bucket& b) {
  Bucket out = a;
  out.last_time = b.last_time;
  out.count += b.count;
  out.highest = std::max(a.highest, b.highest);
  std::array<double, 6> all;
  all.fill(std::numeric_limits<double>::infinity());
  std::copy_n(a.lowest.begin(), std::min<size_t>(a.count, 3), all.begin());
  std::copy_n(b.lowest.begin(), std::min<size_t>(b.count, 3), all.begin() + 3);
  std::partial_sort(all.begin(), all.begin() + 3, all.end());
  std::copy_n(all.begin(), 3, out.lowest.begin());
  return out;
}

}  // namespace

void CompactSeries::add(Sample s) {
  if (!usable(s) || (!buckets_.empty() && !(s.time - buckets_.back().last_time >= least_seconds))) {
    ++refused_;
    return;
  }
  ++samples_;
  if (s.bytes < least_bytes) s.bytes = 0;
  Bucket one{s.time, s.time, {s.bytes, 0, 0}, s.bytes, 1};
  if (!buckets_.empty() && buckets_.back().count < bucket_size_) {
    buckets_.back() = merged(buckets_.back(), one);
    return;
  }
  if (buckets_.size() == capacity) halve();  // every bucket was full, so every merged one is
  buckets_.push_back(one);
}

void CompactSeries::halve() {
  for (size_t i = 0; i < buckets_.size() / 2; ++i) buckets_[i] = merged(buckets_[2 * i], buckets_[2 * i + 1]);
  buckets_.resize(buckets_.size() / 2);
  bucket_size_ *= 2;
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
