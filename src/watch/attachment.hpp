// What is seen of processes that were running before: by a preloaded library that slept, which is woken, and otherwise
// from outside only. Nothing is put into a process, and none is stopped.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "diagnose/outside.hpp"
#include "heap/remote_malloc.hpp"
#include "heap/remote_python.hpp"
#include "heap/waker.hpp"
#include "observe/process.hpp"

namespace plimsoll::watch {

class Attachment {
 public:
  Attachment(const proc::Files& files, const std::string& folder, uint64_t rate)
      : files_(files), waker_(folder, rate) {}

  // Wakes what sleeps in processes that are new; where nothing does, looks which lines of Python run.
  void sample(const observe::Snapshot& snapshot);
  // Once a second at most: reading lists of free chunks takes a call for each.
  void memory(const heap::MemoryClasses& classes);
  const diagnose::Outside& seen() const { return seen_; }

 private:
  struct Known {
    proc::ProcessId id;
    bool woken = false;
    uint64_t bytes = 0;
    std::unique_ptr<heap::RemotePython> python;
    std::unique_ptr<heap::RemoteMalloc> malloc;
  };
  const proc::Files& files_;
  heap::Waker waker_;
  std::map<int, Known> known_;
  diagnose::Outside seen_;
};

}  // namespace plimsoll::watch
