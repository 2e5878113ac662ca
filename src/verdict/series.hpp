// A series of bytes over time in fixed memory: when it is full, neighbouring buckets are merged, keeping
// minima and maxima, so a run of weeks costs what a run of minutes does.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "verdict/verdict.hpp"

namespace plimsoll::verdict {

class Series {
 public:
  struct Bucket {
    float begin = 0, end = 0;  // seconds since watching began, of the first and last value in it
    uint64_t low = 0, high = 0;
  };

  // All memory is taken and touched here: the watcher stays flat.
  explicit Series(size_t capacity) : buckets_(capacity < 4 ? 4 : capacity) {}

  void add(double seconds, uint64_t bytes);
  size_t size() const { return used_; }
  const Bucket& operator[](size_t i) const { return buckets_[i]; }
  uint64_t values() const { return values_; }

 private:
  std::vector<Bucket> buckets_;
  size_t used_ = 0;
  uint64_t values_ = 0;
  uint64_t per_bucket_ = 1, in_last_ = 0;
};

// Both ends of every bucket that begins by `until`, as `judge` takes them.
std::vector<Sample> samples_of(const Series& series, double until);

}  // namespace plimsoll::verdict
