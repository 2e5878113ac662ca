#include "platform/headroom.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.hpp"
#include "platform/pressure.hpp"

namespace plimsoll {
namespace {

// Limits may be changed while we run; reading them again now and then is enough.
constexpr unsigned reads_between_limits = 32;

int open_file(const std::string& path) { return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }

void close_file(int descriptor) {
  if (descriptor >= 0) close(descriptor);
}

// Half of what is in active use counts as needed, up to a 64th of the limit.
uint64_t spare(uint64_t bytes, uint64_t limit) { return bytes - std::min(bytes / 2, limit / 64); }

}  // namespace

Headroom::Headroom(const proc::Files& files, int pid) {
  for (cgroup::Group& group : cgroup::groups_of(files, pid)) {
    Source source{std::move(group.folder), group.version, group.leaf};
    source.usage_file = open_file(source.folder + "/" + group.usage_file());
    if (source.usage_file < 0) continue;  // the root of version 2, or no memory controller
    source.limit_file = open_file(source.folder + "/" + group.limit_file());
    source.stat_file = open_file(source.folder + "/memory.stat");
    // The group's own pressure, where the kernel keeps it; the innermost comes first.
    if (group.version == 2 && pressure_ < 0) pressure_ = open_file(source.folder + "/memory.pressure");
    groups_.push_back(std::move(source));
  }
  meminfo_ = open_file(files.roots().proc + "/meminfo");
  if (pressure_ < 0) pressure_ = open_file(files.roots().proc + "/pressure/memory");
}

Headroom::~Headroom() {
  for (const Source& group : groups_)
    close_file(group.limit_file), close_file(group.usage_file), close_file(group.stat_file);
  close_file(meminfo_), close_file(pressure_);
}

std::string_view Headroom::content(int descriptor) {
  ssize_t got = descriptor < 0 ? -1 : pread(descriptor, buffer_.data(), buffer_.size(), 0);
  return {buffer_.data(), size_t(std::max<ssize_t>(got, 0))};
}

void Headroom::read_limits() {
  for (Source& group : groups_) {
    group.limit = cgroup::parse_limit(content(group.limit_file)).value_or(0);
    // Version 1 also knows limits of parents that are not mounted here.
    if (group.version != 1 || !group.leaf) continue;
    auto above = cgroup::parse_stat_value(content(group.stat_file), "hierarchical_memory_limit");
    if (above && *above < cgroup::unlimited && (group.limit == 0 || *above < group.limit))
      group.limit = *above;
  }
}

uint64_t Headroom::reclaimable(std::string_view stat, int version, uint64_t limit) {
  uint64_t inactive = 0, active = 0, slab = 0;
  while (!stat.empty()) {
    std::string_view line = text::next_line(stat), key = text::next_word(line);
    if (version == 1) {
      if (!key.starts_with("total_")) continue;
      key.remove_prefix(6);
    }
    uint64_t* to = key == "inactive_file"      ? &inactive
                   : key == "active_file"      ? &active
                   : key == "slab_reclaimable" ? &slab
                                               : nullptr;
    if (to) *to = text::number<uint64_t>(text::next_word(line)).value_or(0);
  }
  return text::add_saturating(inactive, text::add_saturating(spare(active, limit), spare(slab, limit)));
}

void Headroom::consider(State& state, uint64_t limit, uint64_t used, uint64_t more, int source) const {
  if (limit == 0) return;
  const uint64_t left = limit - std::min(limit, used);
  state.room = state.limit == 0 ? left : std::min(state.room, left);
  auto share = [&](uint64_t of_limit, uint64_t in_use) {
    return (double(in_use) + double(more)) / double(of_limit);
  };
  const bool nearer = state.limit == 0 || share(limit, used) > share(state.limit, state.used);
  if (nearer) state.limit = limit, state.used = used, state.source = source;
}

Headroom::State Headroom::read(uint64_t more) {
  if (reads_++ % reads_between_limits == 0) read_limits();
  State state;
  if (auto machine = proc::parse_meminfo(content(meminfo_))) {
    state.machine_total = machine->total,
    state.machine_available = std::min(machine->available, machine->total);
    consider(state, machine->total, machine->total - state.machine_available, more, 0);
  }
  for (size_t i = 0; i < groups_.size(); ++i) {
    const Source& group = groups_[i];
    if (group.limit == 0) continue;
    auto usage = cgroup::parse_limit(content(group.usage_file));
    if (!usage) continue;
    uint64_t cache = reclaimable(content(group.stat_file), group.version, group.limit);
    consider(state, group.limit, *usage - std::min(*usage, cache), more, int(i) + 1);
  }
  if (auto pressure = pressure::parse_pressure(content(pressure_))) state.pressure = pressure->full10;
  return state;
}

std::string_view Headroom::name(int source) const {
  return source > 0 && size_t(source) <= groups_.size() ? std::string_view(groups_[size_t(source) - 1].folder)
                                                        : "the machine";
}

}  // namespace plimsoll
