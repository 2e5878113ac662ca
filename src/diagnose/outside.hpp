// What can be said of growth from outside of a process: by kind of mapping, and by the lines of Python that ran when memory
// had grown. The second is a hint, no proof: a line that runs need not be one that allocates.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "heap/memory_classes.hpp"
#include "heap/remote_malloc.hpp"
#include "heap/remote_python.hpp"

namespace plimsoll::diagnose {

struct GrownMapping {
  const char* kind = "";
  uint64_t bytes = 0;
  int64_t grown = 0;
};
struct RunningLine {
  std::string file, function;  // not escaped
  unsigned line = 0;
  uint64_t looks = 0;
  double grown = 0;  // bytes gained by its process between two looks at the end of which it ran
};

class Outside {
 public:
  size_t woken = 0;  // processes with a library that slept

  void add(const heap::MemoryClasses& classes);
  // What the allocators of all processes say of themselves; nullopt: of none it could be read.
  void add(const std::optional<heap::MallocFigures>& figures);
  // Stacks of the threads of one process, innermost first, and what the process gained since the last look.
  void add(const std::vector<std::vector<heap::RunningFrame>>& threads, uint64_t gained);

  struct Malloc {
    heap::MallocFigures first, last;
  };
  const std::optional<Malloc>& malloc() const { return malloc_; }
  std::vector<GrownMapping> mappings() const;  // the most grown first
  std::vector<RunningLine> lines() const;      // those that ran with most growth first

 private:
  std::optional<heap::MemoryClasses> first_, last_;
  std::optional<Malloc> malloc_;
  std::map<std::string, RunningLine> lines_;
};

}  // namespace plimsoll::diagnose
