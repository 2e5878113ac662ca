// The Python lines that the threads of another process are running, read from its memory as it goes on. What is read may
// change meanwhile: every object is checked to be what it should, and a thread that does not pass is left out.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "heap/python_layout.hpp"
#include "platform/proc.hpp"

namespace plimsoll::heap {

struct RunningFrame {
  std::string file, function;  // not escaped
  unsigned line = 0;
};

class RemotePython {
 public:
  // Finds the interpreter among the files a process has mapped; found() is false where there is none that is known.
  RemotePython(const proc::Files& files, int pid);
  bool found() const { return layout_ != nullptr; }
  // A stack for each thread that runs Python, innermost first.
  std::vector<std::vector<RunningFrame>> threads() const;

 private:
  std::vector<RunningFrame> frames(uint64_t thread) const;
  bool frame_at(uint64_t frame, RunningFrame& out) const;
  std::string text(uint64_t string) const;
  template <typename T>
  bool read(uint64_t address, T& out) const;

  int pid_;
  const PythonLayout* layout_ = nullptr;
  uint64_t runtime_ = 0, code_type_ = 0;
};

}  // namespace plimsoll::heap
