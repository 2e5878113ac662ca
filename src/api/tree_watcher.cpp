#include <chrono>
#include <plimsoll/tree_watcher.hpp>

#include "api/public_verdict.hpp"
#include "base/error.hpp"
#include "base/mask.hpp"
#include "diagnose/judgement.hpp"
#include "observe/sampler.hpp"

namespace plimsoll {

struct TreeWatcher::State {
  explicit State(int pid)
      : sampler(files, observe::ProcessTree(files, pid, false), {.gpu = false, .system = false}) {}

  double now() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  proc::Files files;
  observe::Sampler sampler;
  diagnose::History history;
  verdict::Series tree{4096};
};

TreeWatcher::TreeWatcher(int pid) {
  if (pid < 1) fail_input("[TreeWatcher] {} is not a process; give a positive number", pid);
  state_ = std::make_unique<State>(pid);
}
TreeWatcher::~TreeWatcher() = default;
TreeWatcher::TreeWatcher(TreeWatcher&&) noexcept = default;
TreeWatcher& TreeWatcher::operator=(TreeWatcher&&) noexcept = default;

TreeMemory TreeWatcher::read() {
  State& s = *state_;
  const observe::Snapshot& snapshot = s.sampler.sample(s.now());
  TreeMemory out{.seconds = snapshot.time, .bytes = snapshot.bytes, .processes = {}};
  for (const observe::Process& process : snapshot.processes)
    if (!process.zombie())
      out.processes.push_back({process.id.pid, escape(process.name), process.footprint()});
  if (!out.processes.empty()) {
    s.history.add(snapshot);
    s.tree.add(snapshot.time, snapshot.bytes);
  }
  return out;
}

MemoryVerdict TreeWatcher::verdict(double limit_bytes) const {
  verdict::Options options;
  options.limit_bytes = limit_bytes;
  return public_verdict(diagnose::judge_tree(state_->tree, state_->history, options, state_->now()).verdict);
}

}  // namespace plimsoll
