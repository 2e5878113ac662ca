// Reads the memory of a process and everything that descends from it, from outside, and judges it.
//
//   plimsoll::TreeWatcher watcher(getpid());
//   const plimsoll::TreeMemory now = watcher.read();
//   std::printf("%zu processes, %llu bytes\n", now.processes.size(), (unsigned long long)now.bytes);
//   assert(now.bytes > 0);
//   std::puts(watcher.verdict().sentence.c_str());  // undecided: one reading says nothing about growth
//
// Needs no privileges for processes of the same user. Throws std::runtime_error where /proc cannot be read.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plimsoll/verdict.hpp"

namespace plimsoll {

struct ProcessMemory {
  int pid = 0;
  std::string name;    // escaped
  uint64_t bytes = 0;  // shared pages count once among those who share them; swapped pages count
};

struct TreeMemory {
  double seconds = 0;                    // since the watcher was made
  uint64_t bytes = 0;                    // of all processes together
  std::vector<ProcessMemory> processes;  // empty: the tree has ended
};

class TreeWatcher {
 public:
  explicit TreeWatcher(int pid);
  ~TreeWatcher();
  TreeWatcher(TreeWatcher&&) noexcept;
  TreeWatcher& operator=(TreeWatcher&&) noexcept;

  // One reading; take one a second or so. Memory of the watcher stays bounded however long it runs.
  TreeMemory read();
  // Over every reading so far; its sentence names the process that grows.
  MemoryVerdict verdict(double limit_bytes = 0) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll
