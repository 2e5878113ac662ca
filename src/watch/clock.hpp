// Seconds since watching began.
#pragma once
#include "platform/clock.hpp"

namespace plimsoll::watch {

class Clock {
 public:
  double now() const { return platform::monotonic_seconds() - begin_; }
  // How long the machine was suspended since the last call; 0 for less than a second. That time is not in now().
  double slept() {
    const double asleep = suspended();
    const double since = asleep - asleep_;
    if (since <= 1) return 0;
    asleep_ = asleep;
    return since;
  }

 private:
  static double suspended() { return platform::boot_seconds() - platform::monotonic_seconds(); }
  double begin_ = platform::monotonic_seconds();
  double asleep_ = suspended();
};

}  // namespace plimsoll::watch
