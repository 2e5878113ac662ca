// A series in bounded memory as the verdict works on it: each bucket keeps its three lowest values and its highest.
#pragma once
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "verdict/bounded.hpp"
#include "verdict/verdict.hpp"

namespace plimsoll::verdict {

struct Bucket {
  double first_time = 0, last_time = 0;
  std::array<double, 3> lowest{};  // ascending; the first min(count, 3) are valid
  double highest = 0;
  size_t count = 0;

  void join(const Bucket& later);
  double time() const { return (first_time + last_time) / 2; }
  // The low water of the bucket: not the very lowest of many samples, which belongs to the noise's tail.
  double low() const { return lowest[count < 4 ? 0 : count < 16 ? 1 : 2]; }
};

class CompactSeries {
 public:
  static constexpr size_t capacity = 1024;

  // Samples that cannot be used (not finite, negative, not later than the one before) are counted and left
  // out.
  void add(Sample sample);
  std::span<const Bucket> buckets() const { return buckets_.buckets(); }
  size_t samples() const { return samples_; }
  size_t refused() const { return refused_; }
  double first_time() const { return buckets().front().first_time; }
  double last_time() const { return buckets().back().last_time; }

 private:
  Bounded<Bucket> buckets_{capacity};
  size_t samples_ = 0, refused_ = 0;
};

// Sorted by time, of equal times the lowest, nothing that is not a finite non-negative number.
std::vector<Sample> cleaned(std::span<const Sample> samples);

}  // namespace plimsoll::verdict
