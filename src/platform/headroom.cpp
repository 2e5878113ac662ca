#include "platform/headroom.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.hpp"
#include "platform/machine.hpp"
#include "platform/pressure.hpp"

namespace plimsoll {
namespace {

// Limits may be changed while we run; reading them again now and then is enough.
constexpr unsigned reads_between_limits = 32;
// Of /proc/PID/cgroup: a dozen lines at most, of which one or two count.
constexpr size_t memberships_size = 16384;

int open_file(const char* path) { return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); }

void close_file(int descriptor) {
  if (descriptor >= 0) close(descriptor);
}

// Half of what is in active use counts as needed, up to a 64th of the limit.
uint64_t spare(uint64_t bytes, uint64_t limit) { return bytes - std::min(bytes / 2, limit / 64); }

}  // namespace

void Headroom::Source::close() {
  close_file(limit_file), close_file(usage_file), close_file(stat_file);
  limit_file = usage_file = stat_file = -1;
  group.version = 0;
}

Headroom::Headroom(const proc::Files& files, int pid)
    : hierarchies_(cgroup::hierarchies(files, pid)), groups_(most_groups) {
  for (Source& source : groups_) source.group.folder.reserve(cgroup::longest_folder + 1);
  memberships_.reserve(memberships_size);
  if (!see(files, pid)) see(files, platform::own_pid());
  for (const Source& source : groups_)  // the innermost comes first
    if (source.group.version == 2 && pressure_ < 0)
      pressure_ = open_file((source.group.folder + "/memory.pressure").c_str());
  meminfo_ = open_file((files.roots().proc + "/meminfo").c_str());
  if (pressure_ < 0) pressure_ = open_file((files.roots().proc + "/pressure/memory").c_str());
}

Headroom::~Headroom() {
  for (Source& group : groups_) group.close();
  close_file(meminfo_), close_file(pressure_);
}

// Whether it is new.
bool Headroom::add(std::string_view folder, int version, bool leaf) {
  Source* free = nullptr;
  for (Source& source : groups_) {
    if (source.group.version == 0) {
      if (!free) free = &source;
    } else if (source.group.folder == folder) {
      source.seen = true;
      source.group.leaf |= leaf;
      return false;
    }
  }
  if (!free) return false;
  std::array<char, cgroup::longest_folder + 64> path;
  auto open_in = [&](const char* name) {
    *fmt::format_to_n(path.data(), path.size() - 1, "{}/{}", folder, name).out = '\0';
    return open_file(path.data());
  };
  cgroup::Group& group = free->group;
  group.version = version, group.leaf = leaf;
  free->usage_file = open_in(group.usage_file());
  if (free->usage_file < 0)
    return group.version = 0, false;  // the root of version 2, or no memory controller
  group.folder = folder;
  free->limit_file = open_in(group.limit_file());
  free->stat_file = open_in("memory.stat");
  free->limit = 0;
  return free->seen = true;
}

bool Headroom::see(const proc::Files& files, int pid) {
  if (files.read(pid, "cgroup", memberships_, memberships_size) != proc::Read::ok) return false;
  bool found = false;
  cgroup::each_group(hierarchies_, memberships_, [&](std::string_view folder, int version, bool leaf) {
    found |= add(folder, version, leaf);
  });
  if (found) reads_ = 0;
  return found;
}

void Headroom::forget_unseen() {
  reads_ = 0;
  const bool any =
      std::any_of(groups_.begin(), groups_.end(), [](const Source& source) { return source.seen; });
  for (Source& source : groups_) {
    if (any && !source.seen && source.group.version > 0) source.close();
    source.seen = false;
  }
}

bool Headroom::only(const proc::Files& files, int source, std::span<const int> pids) {
  if (source <= 0) return false;
  std::array<char, cgroup::longest_folder + 64> path;
  auto in_folder = [&](const char* file) {
    *fmt::format_to_n(path.data(), path.size() - 1, "{}{}", name(source), file).out = '\0';
    return path.data();
  };
  struct stat folder;
  if (stat(in_folder(""), &folder) != 0 || folder.st_nlink > 2) return false;  // a folder inside adds a link
  const int file = open_file(in_folder("/cgroup.procs"));
  const std::string_view text = content(file);
  close_file(file);
  if (text.size() == buffer_.size()) return false;
  for (std::string_view lines = text; !lines.empty();) {
    const auto pid = text::number<int>(text::next_line(lines));
    if (!pid) return false;
    if (*pid == platform::own_pid() || std::binary_search(pids.begin(), pids.end(), *pid)) continue;
    if (const auto stat = files.stat(*pid); stat && stat->parent != platform::own_pid()) return false;
  }
  return !text.empty();
}

bool Headroom::applies(const proc::Files& files, int source, int pid) {
  if (source <= 0 || files.read(pid, "cgroup", memberships_, memberships_size) != proc::Read::ok) return true;
  bool found = false;
  const std::string_view wanted = name(source);  // two captures: a third would be allocated
  cgroup::each_group(hierarchies_, memberships_,
                     [&found, &wanted](std::string_view folder, int, bool) { found |= folder == wanted; });
  return found;
}

std::string_view Headroom::content(int descriptor) {
  ssize_t got = descriptor < 0 ? -1 : pread(descriptor, buffer_.data(), buffer_.size(), 0);
  return {buffer_.data(), size_t(std::max<ssize_t>(got, 0))};
}

void Headroom::read_limits() {
  for (Source& group : groups_) {
    if (group.group.version == 0) continue;
    group.limit = cgroup::parse_limit(content(group.limit_file)).value_or(0);
    // Version 1 also knows limits of parents that are not mounted here.
    if (group.group.version != 1 || !group.group.leaf) continue;
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
    if (group.group.version == 0 || group.limit == 0) continue;
    auto usage = cgroup::parse_limit(content(group.usage_file));
    if (!usage) continue;
    uint64_t cache = reclaimable(content(group.stat_file), group.group.version, group.limit);
    consider(state, group.limit, *usage - std::min(*usage, cache), more, int(i) + 1);
  }
  if (auto pressure = pressure::parse_pressure(content(pressure_))) state.pressure = pressure->full10;
  return state;
}

std::string_view Headroom::name(int source) const {
  if (source <= 0 || size_t(source) > groups_.size()) return "the machine";
  return groups_[size_t(source) - 1].group.folder;
}

}  // namespace plimsoll
