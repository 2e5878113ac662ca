#include "observe/tree.hpp"

#include <algorithm>

#include "platform/machine.hpp"

namespace plimsoll::observe {

ProcessTree::ProcessTree(const proc::Files& files, int root, bool adopt)
    : files_(files),
      root_(root),
      adopt_(adopt),
      self_(!adopt && root == platform::own_pid() ? 0 : platform::own_pid()) {
  pids_.reserve(4096);
  known_.reserve(4096), next_.reserve(4096);
  members_.reserve(512), newcomers_.reserve(512);
  sessions_.reserve(64), next_sessions_.reserve(64);
}

const ProcessTree::Known* ProcessTree::find(int pid) const {
  auto at =
      std::lower_bound(known_.begin(), known_.end(), pid, [](const Known& k, int p) { return k.id.pid < p; });
  return at != known_.end() && at->id.pid == pid ? &*at : nullptr;
}

bool ProcessTree::is_member(int pid) const {
  const Known* known = find(pid);
  return known && known->member;
}

void ProcessTree::add_session(int session) {
  if (std::find(sessions_.begin(), sessions_.end(), session) == sessions_.end()) sessions_.push_back(session);
}

bool ProcessTree::belongs(const proc::Stat& stat) const {
  auto has = [](const auto& numbers, int number) {
    return number > 0 && std::find(numbers.begin(), numbers.end(), number) != numbers.end();
  };
  if (stat.id.pid == self_ || has(left_out_, stat.session) || has(left_out_, stat.id.pid)) return false;
  if (adopt_ && stat.parent == self_) return true;
  return is_member(stat.parent) || has(sessions_, stat.session);
}

const std::vector<proc::Stat>& ProcessTree::scan() {
  // A stranger stays one as long as it lives, so strangers are looked at again only now and then, against
  // reused pids.
  constexpr unsigned stranger_turns = 16;
  ++scans_;
  files_.list(pids_);
  next_.clear();
  members_.clear();
  newcomers_.clear();
  size_t at = 0;
  for (int pid : pids_) {
    while (at < known_.size() && known_[at].id.pid < pid) ++at;
    const Known* known = at < known_.size() && known_[at].id.pid == pid ? &known_[at] : nullptr;
    if (known && !known->member && unsigned(pid) % stranger_turns != scans_ % stranger_turns) {
      next_.push_back(*known);
      continue;
    }
    auto stat = files_.stat(pid);
    if (!stat) continue;
    bool same = known && known->id == stat->id;
    bool member = same && known->member;
    if (!root_seen_ && pid == root_ && pid != self_) root_seen_ = member = true;
    next_.push_back({stat->id, member});
    if (member)
      members_.push_back(std::move(*stat));
    else if (!same)
      newcomers_.push_back(std::move(*stat));
  }
  known_.swap(next_);

  for (const proc::Stat& stat : members_)
    if (stat.session == stat.id.pid) add_session(stat.session);
  for (bool grown = true; grown;) {
    grown = false;
    for (proc::Stat& stat : newcomers_) {
      if (stat.id.pid == 0 || !belongs(stat)) continue;
      const_cast<Known*>(find(stat.id.pid))->member = true;
      if (stat.session == stat.id.pid) add_session(stat.session);
      members_.push_back(std::move(stat));
      stat.id.pid = 0;
      grown = true;
    }
  }
  // A session outlives its leader in its members; one without any is over and its number may be used again.
  next_sessions_.clear();
  for (int session : sessions_)
    if (std::any_of(members_.begin(), members_.end(), [&](auto& stat) { return stat.session == session; }))
      next_sessions_.push_back(session);
  sessions_.swap(next_sessions_);
  std::sort(members_.begin(), members_.end(), [](auto& a, auto& b) { return a.id < b.id; });
  return members_;
}

}  // namespace plimsoll::observe
