// A process whose heap file is written by the test: what it holds at each look is known.
#pragma once
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "heap/collector.hpp"
#include "heap/heap_file_maker.hpp"

namespace plimsoll::heap {

struct IdleProcess {
  pid_t pid = fork();
  IdleProcess() {
    if (pid == 0)
      for (;;) pause();
  }
  void end() {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
};

// One megabyte a sample, all of one line of train.py in step. A sample is of a block of `size` bytes, allocated at `time`
// nanoseconds, and stands for as many of them as make up the megabyte.
inline void write_held(const Collector& collector, pid_t pid, int samples, uint64_t size = 1 << 20,
                       uint64_t time = 1, uint32_t line = 5) {
  HeapFileMaker maker;
  const uint32_t site = maker.site({maker.python("/a/train.py", "step", line)});
  for (int i = 0; i < 200; ++i)
    maker.block(4096 * uint64_t(i + 1), size, 1 << 20, time, i < samples ? site : 0);
  std::ofstream(fmt::format("{}/{}.0.heap", collector.folder(), pid), std::ios::binary) << maker.bytes();
}

}  // namespace plimsoll::heap
