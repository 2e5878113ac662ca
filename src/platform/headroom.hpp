// How much memory is left before the kernel acts: of all memory limits above a process (its control groups of
// version 1 and 2, all their parents, the machine), the one closest to being reached. Reclaimable page cache
// does not count as used.
//
//   Headroom headroom(files, pid);      // opens what there is
//   Headroom::State now = headroom.read();  // a few system calls, no allocation
#pragma once
#include <array>
#include <cstdint>
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

  Headroom(const proc::Files& files, int pid);
  ~Headroom();
  Headroom(const Headroom&) = delete;
  Headroom& operator=(const Headroom&) = delete;

  // With `more`, the limit that would be nearest if so many bytes more were used.
  State read(uint64_t more = 0);
  // The group's folder, or "the machine".
  std::string_view name(int source) const;

  // What reclaim would give back of a group's use, by its memory.stat: all page cache but a part of what is
  // in active use, as the kernel reckons for the machine's MemAvailable.
  static uint64_t reclaimable(std::string_view stat, int version, uint64_t limit);

 private:
  struct Source {
    std::string folder;
    int version = 0;
    bool leaf = false;
    int limit_file = -1, usage_file = -1, stat_file = -1;
    uint64_t limit = 0;  // 0: none
  };
  std::string_view content(int descriptor);
  void read_limits();
  void consider(State& state, uint64_t limit, uint64_t used, uint64_t more, int source) const;

  std::vector<Source> groups_;
  int meminfo_ = -1, pressure_ = -1;
  unsigned reads_ = 0;
  std::array<char, 8192> buffer_;
};

}  // namespace plimsoll
