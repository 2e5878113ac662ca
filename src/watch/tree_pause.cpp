#include "watch/tree_pause.hpp"

#include <algorithm>
#include <cerrno>

#include "platform/child.hpp"

namespace plimsoll::watch {
namespace {

constexpr size_t most_passes = 1000;

const proc::Stat* find(int pid, const std::vector<proc::Stat>& members) {
  auto at = std::lower_bound(members.begin(), members.end(), pid,
                             [](const proc::Stat& stat, int wanted) { return stat.id.pid < wanted; });
  return at != members.end() && at->id.pid == pid ? &*at : nullptr;
}

bool has_ended(const proc::Stat& stat) { return stat.state == 'Z' || stat.state == 'X' || stat.exiting; }

}  // namespace

TreePause::TreePause(const proc::Files& files, observe::ProcessTree& tree)
    : files_(files), tree_(tree), list_(files) {
  order_.reserve(4096);
  refused_.reserve(4096);
  if (list_.watcher() > 0) tree_.leave_out_session(list_.watcher());
}

int TreePause::depth(const proc::Stat& stat, const std::vector<proc::Stat>& members) const {
  int depth = 0;
  for (const proc::Stat* at = find(stat.parent, members); at && depth < 1000; at = find(at->parent, members))
    ++depth;
  return depth;
}

bool TreePause::descends(int pid, int from, const std::vector<proc::Stat>& members) const {
  int steps = 0;
  for (const proc::Stat* at = find(pid, members); at && steps < 1000; at = find(at->parent, members), ++steps)
    if (at->id.pid == from) return true;
  return false;
}

int TreePause::stop(const proc::ProcessId& id) {
  if (!list_.add(id)) return ENOBUFS;
  const int error = platform::send_signal(files_, id, SIGSTOP);
  if (error) list_.remove(id);
  return error;
}

// Whether a process was found that had not been stopped yet.
bool TreePause::pass(Result& result) {
  const auto& members = tree_.scan();
  order_.clear();
  for (size_t i = 0; i < members.size(); ++i)
    if (!has_ended(members[i]) && members[i].state != 'T' && members[i].state != 't')
      order_.push_back({depth(members[i], members), i});
  std::sort(order_.begin(), order_.end(), [](auto& a, auto& b) { return a.first > b.first; });
  bool found = false;
  for (auto [depth, i] : order_) {
    const proc::ProcessId& id = members[i].id;
    if (std::find(refused_.begin(), refused_.end(), id) != refused_.end()) continue;
    // One we have signalled may not show it yet; saying it again costs nothing and catches those continued.
    const bool fresh = !list_.contains(id);
    const int error = stop(id);
    if (error && error != ESRCH && refused_.size() < refused_.capacity())
      refused_.push_back(id), ++result.denied;
    found |= fresh && !error;
  }
  return found;
}

TreePause::Result TreePause::stop_all() {
  Result result;
  refused_.clear();
  bool found = true;
  while (found && result.passes < most_passes) {
    found = pass(result);
    ++result.passes;
  }
  result.complete = !found;
  result.stopped = list_.size();
  return result;
}

void TreePause::continue_all() {
  while (size_t left = list_.size()) {
    const proc::ProcessId id = list_[left - 1];
    platform::send_signal(files_, id, SIGCONT);
    list_.remove(id);
  }
}

void TreePause::continue_if(const proc::ProcessId& id, bool parents) {
  const auto& members = tree_.scan();
  for (size_t i = list_.size(); i-- > 0;) {
    const proc::ProcessId other = list_[i];
    if (parents ? !descends(id.pid, other.pid, members) : !descends(other.pid, id.pid, members)) continue;
    platform::send_signal(files_, other, SIGCONT);
    list_.remove(other);
  }
}

void TreePause::continue_children(const proc::ProcessId& id) { continue_if(id, false); }
void TreePause::continue_parents(const proc::ProcessId& id) { continue_if(id, true); }

}  // namespace plimsoll::watch
