// `plimsoll guard`: launches or attaches to a program, monitors how much memory is left, and acts on the
// whole tree before the kernel does.
#pragma once
#include <string>
#include <vector>

#include "guard/policy.hpp"
#include "live/access.hpp"
#include "platform/proc.hpp"
#include "watch/profiling.hpp"

namespace plimsoll::watch {

struct GuardOptions {
  // Exactly one of these two.
  std::vector<std::string> command;
  int pid = 0;

  guard::Policy policy;
  double grace = 10;  // seconds between SIGTERM and SIGKILL
  std::string hook;   // command; empty: none
  std::string out;    // run file; empty: none
  live::ServeOptions serve;
  bool dry_run = false, json = false;
  ProfileOptions profile;
  proc::Roots roots;
};

// Returns the exit code: 11 when something was stopped, else the program's own, 0 for one that was not ours.
int guard_tree(const GuardOptions& options);

}  // namespace plimsoll::watch
