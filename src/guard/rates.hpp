// Estimates how fast use rises: over the last few readings, to act in time, and by its minimum over half a
// minute, to predict.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace plimsoll::guard {

class Rates {
 public:
  void clear() { *this = Rates(); }
  void add(double time, uint64_t used);  // times never fall
  // Bytes a second over the last 50 ms, or since the last reading where that is longer ago; never negative.
  double fast() const;
  // Bytes a second by which the low water of ten-second stretches rises; 0 before half a minute has been seen
  // and where it does not rise in both steps (a single jump is no trend).
  double floor() const;

 private:
  struct Point {
    double time = 0;
    double used = 0;
  };
  static constexpr size_t recent = 64, slots = 12;
  static constexpr double slot_seconds = 2.5;
  const Point& back(size_t n) const { return points_[(next_ + recent - 1 - n) % recent]; }

  std::array<Point, recent> points_;
  size_t next_ = 0, count_ = 0;
  std::array<double, slots> low_{};  // oldest first once all are filled
  size_t filled_ = 0;
  double slot_begin_ = 0;
};

}  // namespace plimsoll::guard
