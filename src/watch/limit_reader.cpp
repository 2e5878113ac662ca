#include "watch/limit_reader.hpp"

#include <algorithm>

#include "platform/machine.hpp"
#include "platform/memory.hpp"

namespace plimsoll::watch {
namespace {

constexpr int own_line_source = -1;    // the limits of the system count from 0
constexpr size_t most_members = 1024;  // of a tree whose group is looked through
constexpr int at_a_time = 32;          // processes of one look: about a quarter of a millisecond

}  // namespace

LimitReader::LimitReader(const proc::Files& files, int pid, const std::optional<Size>& own_line)
    : files_(files), headroom_(files, pid) {
  pids_.reserve(most_members);
  if (!own_line) return;
  observe::System system;
  system.total = machine_memory(files.roots().proc).total;
  system.limit = cgroup::limit_of(files, files.stat(pid) ? pid : platform::own_pid());
  own_line_ = std::max<uint64_t>(1, own_line->of(system.tightest_limit()));
}

bool LimitReader::look(const observe::Snapshot& tree) {
  bool found = false;
  int left = at_a_time;
  for (const observe::Process& process : tree.processes) {
    if (process.id.pid < next_ || process.zombie()) continue;
    if (left-- == 0) return next_ = process.id.pid, found;
    found |= headroom_.see(files_, process.id.pid);
  }
  next_ = 0;
  headroom_.forget_unseen();
  return found;
}

guard::Reading LimitReader::read(double time, const observe::Snapshot& snapshot) {
  const uint64_t tree = snapshot.bytes;
  state_ = headroom_.read();
  guard::Reading reading{.time = time,
                         .limit = state_.limit,
                         .used = state_.used,
                         .room = state_.room,
                         .source = state_.source,
                         .pressure = state_.pressure,
                         .own = tree};
  own_line_nearest_ =
      own_line_ && double(tree) * double(state_.limit) >= double(state_.used) * double(own_line_);
  if (own_line_) reading.room = std::min(state_.room, own_line_ - std::min(own_line_, tree));
  if (!own_line_nearest_ && tree < state_.used && state_.used > state_.limit / 2 && all_ours(snapshot))
    reading.own = state_.used;
  if (own_line_nearest_) reading.limit = own_line_, reading.used = tree, reading.source = own_line_source;
  return reading;
}

bool LimitReader::all_ours(const observe::Snapshot& tree) {
  if (state_.source == 0 || tree.processes.size() + 1 > most_members) return false;
  pids_.clear();
  for (const observe::Process& process : tree.processes) pids_.push_back(process.id.pid);
  return headroom_.only(files_, state_.source, pids_);
}

bool LimitReader::applies(int pid) {
  return own_line_nearest_ || headroom_.applies(files_, state_.source, pid);
}

}  // namespace plimsoll::watch
