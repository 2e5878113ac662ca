// The figures glibc's malloc keeps of itself, read from another process's memory as it goes on: what mallinfo2 would say
// there. No symbols are needed: the main arena is recognized by its empty bins, which point at themselves.
#pragma once
#include <cstdint>
#include <optional>

#include "platform/proc.hpp"

namespace plimsoll::heap {

struct MallocFigures {
  uint64_t arenas = 0;
  uint64_t system =
      0;  // bytes the arenas have from the system; blocks with a mapping of their own are not in it
  uint64_t free = 0;     // of those, in free chunks; what threads keep in their own caches counts as used
  bool complete = true;  // false: lists of free chunks were too long, or changed while they were read
  MallocFigures& operator+=(const MallocFigures& other) {
    arenas += other.arenas, system += other.system, free += other.free;
    complete = complete && other.complete;
    return *this;
  }
};

class RemoteMalloc {
 public:
  // Looks for the main arena among the data of the process's libc.
  RemoteMalloc(const proc::Files& files, int pid);
  bool found() const { return main_arena_ != 0; }
  std::optional<MallocFigures> read() const;
  // What all arenas have from the system, and nothing else: one read each.
  std::optional<uint64_t> system_bytes() const;

 private:
  template <typename See>
  bool each_arena(See see) const;

  int pid_;
  uint64_t main_arena_ = 0;
};

}  // namespace plimsoll::heap
