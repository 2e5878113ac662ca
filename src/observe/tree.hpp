// Determines which processes belong to the watched tree. A process remains a member after exec, reparenting
// and the death of its parents; a reused pid with another start time is another process.
#pragma once
#include <array>
#include <vector>

#include "platform/proc.hpp"

namespace plimsoll::observe {

class ProcessTree {
 public:
  // Follows `root` and all that descends from it; this process only if it is itself the root. With `adopt`, for
  // the children of this process, also everything handed to it as a subreaper, which is where the orphans of a
  // launched program end up.
  ProcessTree(const proc::Files& files, int root, bool adopt);

  // Reads the process table once; the living members, zombies included, by pid. Valid until the next scan.
  const std::vector<proc::Stat>& scan();
  bool is_member(int pid) const;
  // Processes of this session and its leader are never members: those we start for ourselves.
  void leave_out_session(int session) { left_out_[left_out_next_++ % left_out_.size()] = session; }

 private:
  struct Known {
    proc::ProcessId id;
    bool member = false;
  };
  bool belongs(const proc::Stat& stat) const;
  void add_session(int session);
  const Known* find(int pid) const;

  const proc::Files& files_;
  int root_;
  bool adopt_;
  int self_;  // never a member; 0: it may be one
  bool root_seen_ = false;
  unsigned scans_ = 0;
  std::vector<int> pids_;
  std::vector<Known> known_, next_;
  std::vector<proc::Stat> members_, newcomers_;
  std::array<int, 16> left_out_{};
  size_t left_out_next_ = 0;
  std::vector<int> sessions_,
      next_sessions_;  // begun by members: a daemon is found by it though its parents are gone
};

}  // namespace plimsoll::observe
