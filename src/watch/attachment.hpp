// What is seen of processes that were running before: by a preloaded library that slept, which is woken, and otherwise
// from outside only. Nothing is put into a process, and none is stopped.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "diagnose/outside.hpp"
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
  void memory(const heap::MemoryClasses& classes) { seen_.add(classes); }
  const diagnose::Outside& seen() const { return seen_; }

 private:
  struct Known {
    proc::ProcessId id;
    bool woken = false;
    uint64_t bytes = 0;
    std::unique_ptr<heap::RemotePython> python;
  };
  const proc::Files& files_;
  heap::Waker waker_;
  std::map<int, Known> known_;
  diagnose::Outside seen_;
};

}  // namespace plimsoll::watch
