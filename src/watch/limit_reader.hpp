// Reads what the guard decides by: the memory limit closest to being reached, including a line given by the user.
#pragma once
#include "guard/guard.hpp"
#include "observe/process.hpp"
#include "platform/headroom.hpp"

namespace plimsoll::watch {

class LimitReader {
 public:
  // `own_line` of a share is of the tightest limit that applies to `pid`, or to this process where that one is gone.
  LimitReader(const proc::Files& files, int pid, const std::optional<Size>& own_line);

  // Looks which control groups the processes of the tree are in now; whether there is one not known before. Looks
  // at a part of a large tree at a time. Allocates nothing.
  bool look(const observe::Snapshot& tree);
  // Allocates nothing.
  guard::Reading read(double time, const observe::Snapshot& tree);
  // Whether the limit that the last reading named counts the memory of this process.
  bool applies(int pid);
  uint64_t own_line() const { return own_line_; }  // bytes; 0: none
  const Headroom::State& state() const { return state_; }

 private:
  bool all_ours(const observe::Snapshot& tree);
  const proc::Files& files_;
  Headroom headroom_;
  Headroom::State state_;
  uint64_t own_line_ = 0;
  bool own_line_nearest_ = false;
  std::vector<int> pids_;
  int next_ = 0;  // the pid from which the next look goes on
};

}  // namespace plimsoll::watch
