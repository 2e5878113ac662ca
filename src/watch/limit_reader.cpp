#include "watch/limit_reader.hpp"

#include <algorithm>

#include "platform/memory.hpp"

namespace plimsoll::watch {
namespace {

constexpr int own_line_source = -1;  // the limits of the system count from 0

}  // namespace

LimitReader::LimitReader(const proc::Files& files, int pid, const std::optional<Size>& own_line)
    : headroom_(files, pid) {
  if (!own_line) return;
  observe::System system;
  system.total = machine_memory(files.roots().proc).total;
  system.limit = cgroup::limit_of(files, pid);
  own_line_ = std::max<uint64_t>(1, own_line->of(system.tightest_limit()));
}

guard::Reading LimitReader::read(double time, uint64_t tree) {
  state_ = headroom_.read();
  guard::Reading reading{.time = time,
                         .limit = state_.limit,
                         .used = state_.used,
                         .room = state_.room,
                         .source = state_.source,
                         .pressure = state_.pressure,
                         .own = tree};
  if (!own_line_) return reading;
  reading.room = std::min(state_.room, own_line_ - std::min(own_line_, tree));
  if (double(tree) * double(state_.limit) >= double(state_.used) * double(own_line_))
    reading.limit = own_line_, reading.used = tree, reading.source = own_line_source;
  return reading;
}

}  // namespace plimsoll::watch
