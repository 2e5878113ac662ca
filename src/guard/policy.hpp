// The policy of the guard: its thresholds and times. docs/guard.md explains the defaults, policy_settings.hpp
// how they are set.
#pragma once
#include <cstdint>
#include <optional>

#include "base/units.hpp"

namespace plimsoll::guard {

// In rising order of force. What can shrink is asked to before it is paused.
enum class Level { ok, warn, shrink, pause, stop };
const char* level_name(Level level);  // "ok", "warn", "shrink", "pause", "stop"

// Bytes of use at which each level begins, never falling from one to the next.
struct Lines {
  uint64_t warn = 0, shrink = 0, pause = 0, stop = 0;
  uint64_t of(Level level) const;  // 0 for ok
};

struct Policy {
  // A line of the user's own for what is guarded, besides the control groups and the machine; a share is of
  // the limit that applies.
  std::optional<Size> max_memory;
  // Where shrinking begins, in percent of the limit. The other lines follow it unless they are given: warn at
  // 7/8 of it, pause and stop at a half and three quarters of the way from it to the limit (80: 70, 90, 95).
  double memory_threshold_percentage = 80;
  std::optional<Size> warn_threshold, pause_threshold, stop_threshold;

  double hysteresis_percentage = 5;  // of the limit, that use must fall below a line before it is left
  double dwell = 60;                 // seconds a level is kept at least, and calm before it is left
  double pause_dwell = 2;            // the same for a pause, which should end as soon as pressure does
  double pause_bound = 120;          // seconds of pause, several short ones together; then it escalates
  double pause_alone = 2;            // the same if the paused program itself holds the memory
  double shrink_patience = 5;        // seconds a request to shrink has to show an effect
  double prediction_horizon = 60;    // seconds: the stop line crossed within them raises the level by one
  double pressure_threshold_percentage = 20;  // of time all tasks wait for memory (full avg10)

  double memory_leak_threshold_mb = 1;       // a leak of more than this a step is worth a warning
  double batch_size_reduction_factor = 0.5;  // factor by which a shrink reduces the micro-batch

  double reaction = 0.010;    // seconds from a reading to its effect: growth within them is counted already
  double fastest_fill = 8e9;  // the fastest that memory can be filled, bytes per second; determines the interval
  double longest_gap = 60;    // seconds between readings that count; a longer gap counts as this

  Lines lines(uint64_t limit) const;
};

}  // namespace plimsoll::guard
