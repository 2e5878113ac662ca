// Carries out the decisions of the guard on a process tree: pauses it, continues it, ends the process that
// grows. Each action and its effect are logged.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "diagnose/growers.hpp"
#include "observe/sampler.hpp"
#include "watch/action_log.hpp"
#include "watch/tree_pause.hpp"

namespace plimsoll::watch {

class TreeActor {
 public:
  struct Options {
    double grace = 10;  // seconds between SIGTERM and SIGKILL
    bool dry_run = false;
    // Whether a process's memory counts for the limit in question: to stop another would not help.
    std::function<bool(int pid)> matters = [](int) { return true; };
  };
  TreeActor(const proc::Files& files, observe::Sampler& sampler, ActionLog& log, const Options& options);

  // After every sample of the tree.
  void see(const observe::Snapshot& snapshot);
  void pause(double now, const guard::Decision& decision);
  void resume(double now, const guard::Decision& decision);
  void stop(double now, const guard::Decision& decision);
  // At every reading: keeps a pause whole, a stop going.
  void advance(double now, const guard::Decision& decision);
  // The tree has ended: says what came of what was under way.
  void conclude(double now);
  // Termination was requested: all processes are continued, and none is paused from now on.
  void release();

  bool busy() const { return paused_ || phase_ != Phase::none; }
  bool stopped_any() const { return stopped_any_; }

 private:
  enum class Phase { none, grace, settling };
  void freeze();
  void choose(double now, const guard::Decision& decision);
  void watch_grace(double now, const guard::Decision& decision);
  void settle(double now, const guard::Decision& decision);
  bool victim_ended() const;
  bool victim_gone() const;

  const proc::Files& files_;
  observe::Sampler& sampler_;
  ActionLog& log_;
  Options options_;
  diagnose::Growers growers_;
  TreePause pause_;
  std::vector<proc::ProcessId> denied_;  // that we may not signal
  std::vector<proc::ProcessId> spared_;  // those, and others that do not matter now
  bool paused_ = false, may_freeze_ = true, stopped_any_ = false;
  double next_pass_ = 0;
  double seen_ = 0, stood_ = 0;  // the last look at the tree; seconds in which it was stopped

  Phase phase_ = Phase::none;
  proc::ProcessId victim_;
  std::array<char, 24> victim_name_{};
  TreeAction* action_ = nullptr;
  double asked_ = 0, settled_ = 0, next_choice_ = 0;
  uint64_t used_then_ = 0, limit_then_ = 0;
  bool killed_ = false, parents_go_on_ = false;
};

}  // namespace plimsoll::watch
