// How much memory is left before the kernel acts: of all memory limits above some processes (their control
// groups of version 1 and 2, all parents of those, the machine), the one closest to being reached. Reclaimable
// page cache does not count as used.
//
//   Headroom headroom(files, pid);      // opens what there is
//   Headroom::State now = headroom.read();  // a few system calls, no allocation
//   for (int pid : tree) headroom.see(files, pid); // processes move from group to group: look again now and then
//   headroom.forget_unseen();
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/cgroup.hpp"
#include "platform/proc.hpp"

namespace plimsoll {

class Headroom {
 public:
  struct State {
    uint64_t limit = 0;  // bytes; 0 where nothing could be read
    uint64_t used = 0;   // working set: what reclaim would not give back
    uint64_t room = 0;   // the least that is left of any limit, which need not be the fullest
    int source = 0;      // which limit: see name()
    uint64_t machine_total = 0, machine_available = 0;
    double pressure = 0;  // percent of the last 10 s in which all tasks waited for memory
  };

  // Starts from the groups of `pid`, or of this process where that one is gone.
  Headroom(const proc::Files& files, int pid);
  ~Headroom();
  Headroom(const Headroom&) = delete;
  Headroom& operator=(const Headroom&) = delete;

  // With `more`, the limit that would be nearest if so many bytes more were used.
  State read(uint64_t more = 0);
  // The group's folder, or "the machine".
  std::string_view name(int source) const;

  // Takes in the groups of one more process, without allocating; whether a new one was found.
  bool see(const proc::Files& files, int pid);
  // Ends a round of looks: groups that none of the processes seen in it is in do not count any more. A round that
  // could read none changes nothing.
  void forget_unseen();
  // Whether all processes of the group are among `pids`, which ascend, or this one and its children: then its use is theirs, down to
  // what no process shows (files in memory). False for the machine and for groups with groups inside.
  bool only(const proc::Files& files, int source, std::span<const int> pids);
  // Whether this limit holds for the process.
  bool applies(const proc::Files& files, int source, int pid);

  // What reclaim would give back of a group's use, by its memory.stat: all page cache but a part of what is
  // in active use, as the kernel reckons for the machine's MemAvailable.
  static uint64_t reclaimable(std::string_view stat, int version, uint64_t limit);

 private:
  struct Source {
    cgroup::Group group;  // of version 0: a free place
    int limit_file = -1, usage_file = -1, stat_file = -1;
    uint64_t limit = 0;  // 0: none
    bool seen = false;
    void close();
  };
  static constexpr size_t most_groups = 32;
  bool add(std::string_view folder, int version, bool leaf);
  std::string_view content(int descriptor);
  void read_limits();
  void consider(State& state, uint64_t limit, uint64_t used, uint64_t more, int source) const;

  std::vector<cgroup::Hierarchy> hierarchies_;
  std::vector<Source> groups_;  // a group keeps its place: it is what State::source names
  std::string memberships_;
  int meminfo_ = -1, pressure_ = -1;
  unsigned reads_ = 0;
  std::array<char, 8192> buffer_;
};

}  // namespace plimsoll
