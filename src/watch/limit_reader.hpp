// Reads what the guard decides by: the memory limit closest to being reached, including a line given by the user.
#pragma once
#include "guard/guard.hpp"
#include "observe/process.hpp"
#include "platform/headroom.hpp"

namespace plimsoll::watch {

class LimitReader {
 public:
  // `own_line` of a share is of the tightest limit that applies to `pid`.
  LimitReader(const proc::Files& files, int pid, const std::optional<Size>& own_line);

  // Allocates nothing. `tree` is the footprint of the guarded tree.
  guard::Reading read(double time, uint64_t tree);
  uint64_t own_line() const { return own_line_; }  // bytes; 0: none
  const Headroom::State& state() const { return state_; }

 private:
  Headroom headroom_;
  Headroom::State state_;
  uint64_t own_line_ = 0;
};

}  // namespace plimsoll::watch
