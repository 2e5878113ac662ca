// Reads the memory limit that a control group imposes on a process: versions 1 and 2, nested groups,
// namespaces, containers without control group files.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/proc.hpp"

namespace plimsoll::cgroup {

// One line of /proc/PID/cgroup.
struct Membership {
  int hierarchy = 0;  // 0 is version 2
  std::string_view controllers, path;
};
std::optional<Membership> parse_membership(std::string_view line);  // nullopt where it is none

// From here on a number of bytes means "no limit".
inline constexpr uint64_t unlimited = uint64_t(1) << 60;

// Bytes; nullopt for "max", the huge values version 1 writes for unlimited, and what is not a number.
std::optional<uint64_t> parse_limit(std::string_view text);
// The value of "key value" lines as in memory.stat.
std::optional<uint64_t> parse_stat_value(std::string_view text, std::string_view key);

// A mounted hierarchy of control groups that counts memory.
struct Hierarchy {
  std::string folder;  // where it is mounted
  std::string root;    // the part of it that the mount shows
  int version = 0;
};
// As `pid` sees them, or this process where that one is gone.
std::vector<Hierarchy> hierarchies(const proc::Files& files, int pid);

// The groups that count the memory of a process with this /proc/PID/cgroup, innermost first. Allocates nothing;
// `folder` is valid during the call.
inline constexpr size_t longest_folder = 511;  // groups with a longer path are left out
using EachGroup = std::function<void(std::string_view folder, int version, bool leaf)>;
void each_group(const std::vector<Hierarchy>& hierarchies, std::string_view memberships,
                const EachGroup& each);

// One group that counts a process's memory.
struct Group {
  std::string folder;
  int version = 0;
  bool leaf = false;  // the process's own; else a parent of it
  const char* limit_file() const { return version == 1 ? "memory.limit_in_bytes" : "memory.max"; }
  const char* usage_file() const { return version == 1 ? "memory.usage_in_bytes" : "memory.current"; }
};
// The process's own group and all parents that can be seen, innermost first, of every hierarchy with memory.
std::vector<Group> groups_of(const proc::Files& files, int pid);

// The tightest limit over the group and all its parents, and how full the group that sets it is.
struct Limit {
  uint64_t bytes = 0;
  uint64_t usage = 0;
  uint64_t reclaimable = 0;  // inactive page cache in `usage`: not use
  int version = 0;
  std::string folder;  // the group that sets it
};
std::optional<Limit> limit_of(const proc::Files& files, int pid);

}  // namespace plimsoll::cgroup
