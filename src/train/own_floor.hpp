// Tracks the trainer's own memory step by step and whether its floor rises. It should not; if it does, it is
// judged by the same function as any other program.
#pragma once
#include <cstdint>
#include <optional>

#include "verdict/series.hpp"
#include "verdict/step_marks.hpp"
#include "verdict/verdict.hpp"

namespace plimsoll {

class OwnFloor {
 public:
  // After every step; never allocates. `bytes` is what the process holds as though its plan had not been changed.
  void see(double time, uint64_t iteration, uint64_t bytes);

  // Whether it is time for a look and the floor has risen by more than `bytes_per_step`, and by a share that the verdict
  // would speak of. Looks are taken at geometric numbers of steps. Never allocates.
  bool suspicious(double bytes_per_step);
  verdict::Verdict judge(double limit_bytes) const;

 private:
  verdict::Series series_{8192};
  verdict::StepMarks marks_;
  uint64_t steps_ = 0, next_look_ = 256;
};

}  // namespace plimsoll
