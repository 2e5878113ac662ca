// Stops and continues a whole process tree. Children are stopped before their parents, in passes until one
// finds no new process. A process with a pending stop cannot fork, so at that point none has escaped.
#pragma once
#include <vector>

#include "observe/tree.hpp"
#include "platform/continue_on_death.hpp"

namespace plimsoll::watch {

class TreePause {
 public:
  TreePause(const proc::Files& files, observe::ProcessTree& tree);

  struct Result {
    size_t stopped = 0;  // in all, by us
    size_t denied = 0;   // that we may not signal
    size_t passes = 0;
    bool complete = false;  // a pass found no new process
  };
  // Those stopped by others before stay theirs: they are not continued afterwards. Call again while the
  // pause lasts, for processes that something else has continued.
  Result stop_all();
  // Parents first.
  void continue_all();
  // Errno codes as send_signal gives them.
  int stop(const proc::ProcessId& id);
  // This one and all that descends from it.
  void continue_children(const proc::ProcessId& id);
  void continue_parents(const proc::ProcessId& id);

  bool active() const { return list_.size() > 0; }
  int watcher() const { return list_.watcher(); }

 private:
  bool pass(Result& result);
  int depth(const proc::Stat& stat, const std::vector<proc::Stat>& members) const;
  void continue_if(const proc::ProcessId& id, bool parents);
  bool descends(int pid, int from, const std::vector<proc::Stat>& members) const;

  const proc::Files& files_;
  observe::ProcessTree& tree_;
  platform::ContinueOnDeath list_;
  std::vector<std::pair<int, size_t>> order_;  // depth, index of the member
  std::vector<proc::ProcessId> refused_;
};

}  // namespace plimsoll::watch
