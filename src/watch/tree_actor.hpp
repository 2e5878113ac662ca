// Does to a process tree what the guard decides: stops it for a while, lets it go on, ends the process that
// grows. Each action is logged, and what came of it.
#pragma once
#include <optional>
#include <vector>

#include "diagnose/growers.hpp"
#include "observe/sampler.hpp"
#include "watch/guard_log.hpp"
#include "watch/tree_pause.hpp"

namespace plimsoll::watch {

class TreeActor {
 public:
  struct Options {
    double grace = 10;  // seconds between SIGTERM and SIGKILL
    bool dry_run = false;
  };
  TreeActor(const proc::Files& files, observe::Sampler& sampler, GuardLog& log, const Options& options);

  // After every sample of the tree.
  void see(const observe::Snapshot& snapshot);
  void pause(double now, const guard::Decision& decision);
  void resume(double now, const guard::Decision& decision);
  void stop(double now, const guard::Decision& decision);
  // At every reading: keeps a pause whole, a stop going.
  void advance(double now, const guard::Decision& decision);
  // The tree has ended: says what came of what was under way.
  void conclude(double now);
  // An end was asked for: everybody runs again, and nobody is paused from now on.
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

  const proc::Files& files_;
  observe::Sampler& sampler_;
  GuardLog& log_;
  Options options_;
  diagnose::Growers growers_;
  TreePause pause_;
  std::vector<proc::ProcessId> spared_;  // that we may not signal
  bool paused_ = false, may_freeze_ = true, stopped_any_ = false;
  double next_pass_ = 0;

  Phase phase_ = Phase::none;
  proc::ProcessId victim_;
  GuardAction* action_ = nullptr;
  double asked_ = 0, settled_ = 0, next_choice_ = 0;
  uint64_t used_then_ = 0, limit_then_ = 0;
  bool killed_ = false;
};

}  // namespace plimsoll::watch
