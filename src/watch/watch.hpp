// `plimsoll watch`: launches or attaches to a program, samples it until the end, and judges it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "live/access.hpp"
#include "platform/proc.hpp"
#include "watch/profiling.hpp"

namespace plimsoll::watch {

struct WatchOptions {
  // Exactly one of these three.
  std::vector<std::string> command;
  int pid = 0;
  bool find_training = false;

  double interval = 1;         // seconds
  double duration = 0;         // seconds; 0: until the tree has ended
  bool until_command = false;  // stop when the command ends though processes it left behind live on
  bool steps = true;           // socket and recognition; false: output is inherited
  std::string step_regex;
  std::optional<Size> limit;  // the line; else the control group's or the machine's
  std::string out;            // run file; empty: none
  bool fail_on_leak = false, json = false, all = false, quiet = false;
  ProfileOptions profile;
  live::ServeOptions serve;
  proc::Roots roots;
};

// Returns the exit code: 10 for a leak where asked to fail on it, else the program's own, 0 for one that was
// not ours.
int watch_tree(const WatchOptions& options);

}  // namespace plimsoll::watch
