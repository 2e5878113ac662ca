// Reads the memory limit that a control group imposes on a process: versions 1 and 2, nested groups,
// namespaces, containers without control group files.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/proc.hpp"

namespace plimsoll::cgroup {

// One line of /proc/PID/cgroup.
struct Membership {
  int hierarchy = 0;  // 0 is version 2
  std::string controllers, path;
};
std::vector<Membership> parse_membership(std::string_view text);

// From here on a number of bytes means "no limit".
inline constexpr uint64_t unlimited = uint64_t(1) << 60;

// Bytes; nullopt for "max", the huge values version 1 writes for unlimited, and what is not a number.
std::optional<uint64_t> parse_limit(std::string_view text);
// The value of "key value" lines as in memory.stat.
std::optional<uint64_t> parse_stat_value(std::string_view text, std::string_view key);

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
