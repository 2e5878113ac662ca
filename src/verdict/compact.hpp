// A series of any length in bounded memory: buckets of equally many samples, each keeping its lowest and
// highest values. Two neighbours become one whenever the bound is reached, so old and new are kept at the
// same resolution.
#pragma once
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "verdict/verdict.hpp"

namespace plimsoll::verdict {

struct Bucket {
  double first_time = 0, last_time = 0;
  std::array<double, 3> lowest{};  // ascending; the first min(count, 3) are valid
  double highest = 0;
  size_t count = 0;

  double time() const { return (first_time + last_time) / 2; }
  // The low water of the bucket: not the very lowest of many samples, which belongs to the noise's tail.
  double low() const { return lowest[count < 4 ? 0 : count < 16 ? 1 : 2]; }
};

class CompactSeries {
 public:
  static constexpr size_t capacity = 1024;  // even: full buckets pair up

  // Samples that cannot be used (not finite, negative, not later than the one before) are counted and left
  // out.
  void add(Sample sample);
  std::span<const Bucket> buckets() const { return buckets_; }
  size_t samples() const { return samples_; }
  size_t refused() const { return refused_; }
  double first_time() const { return buckets_.front().first_time; }
  double last_time() const { return buckets_.back().last_time; }

 private:
  void halve();
  std::vector<Bucket> buckets_;
  size_t bucket_size_ = 1;
  size_t samples_ = 0, refused_ = 0;
};

// Sorted by time, of equal times the lowest, nothing that is not a finite non-negative number.
std::vector<Sample> cleaned(std::span<const Sample> samples);

}  // namespace plimsoll::verdict
