// A series of bytes over time in bounded memory, kept for every process: the lowest and highest value of each
// interval. The verdict derives a CompactSeries from it, with what it needs to find the floor under noise.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "verdict/bounded.hpp"
#include "verdict/verdict.hpp"

namespace plimsoll::verdict {

class Series {
 public:
  struct Stretch {
    float begin = 0, end = 0;  // seconds since watching began, of the first and last value in it
    uint64_t low = 0, high = 0;
    void join(const Stretch& later) {
      end = later.end;
      low = std::min(low, later.low), high = std::max(high, later.high);
    }
  };

  explicit Series(size_t capacity) : stretches_(capacity) {}

  void add(double seconds, uint64_t bytes) {
    ++values_;
    stretches_.add({float(seconds), float(seconds), bytes, bytes});
  }
  size_t size() const { return stretches_.buckets().size(); }
  const Stretch& operator[](size_t i) const { return stretches_.buckets()[i]; }
  uint64_t values() const { return values_; }

 private:
  Bounded<Stretch> stretches_;
  uint64_t values_ = 0;
};

// Both ends of every stretch that begins by `until`, as `judge` takes them.
std::vector<Sample> samples_of(const Series& series, double until);

}  // namespace plimsoll::verdict
