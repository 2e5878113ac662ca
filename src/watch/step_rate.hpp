// How fast a guarded program's steps are, if it reports them.
#pragma once
#include <cstdint>
#include <optional>

namespace plimsoll::watch {

class StepRate {
 public:
  // A count that goes back is a new one.
  void see(int64_t step, double time) {
    if (!last_ || step < *last_) first_ = step, first_time_ = time;
    last_ = step, last_time_ = time;
  }
  std::optional<int64_t> last() const { return last_; }
  // Steps a second, where that is known already.
  std::optional<double> rate() const {
    const double seconds = last_time_ - first_time_;
    if (!last_ || seconds <= 1) return std::nullopt;
    return double(*last_ - first_) / seconds;
  }

 private:
  int64_t first_ = 0;
  std::optional<int64_t> last_;
  double first_time_ = 0, last_time_ = 0;
};

}  // namespace plimsoll::watch
