// A fake /proc: a folder of files as the kernel writes them, for situations that a real machine does not show
// on demand.
#pragma once
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "platform/proc.hpp"

namespace plimsoll::testing {

struct FakeProcess {
  int pid = 0, parent = 1;
  uint64_t start = 100;
  std::string name = "train";
  char state = 'S';
  int session = 1;
  uint64_t resident_pages = 1000, shared_pages = 100, faults = 500, cpu_ticks = 10;
  uint64_t pss_kb = 3000, private_kb = 2800, shared_kb = 1200, swap_kb = 0;
  int64_t file_kb = -1;  // of the PSS; -1: an old kernel, which does not say
  bool smaps = true;
};

class FakeProc {
 public:
  FakeProc() {
    char folder[] = "/tmp/plimsoll-proc-XXXXXX";
    root_ = mkdtemp(folder);
    write("proc/meminfo", "MemTotal: 16000000 kB\nMemFree: 1000000 kB\nMemAvailable: 8000000 kB\n");
    std::filesystem::create_directories(root_ / "cgroup");
  }
  ~FakeProc() { std::filesystem::remove_all(root_); }
  FakeProc(const FakeProc&) = delete;
  FakeProc& operator=(const FakeProc&) = delete;

  proc::Roots roots() const { return {(root_ / "proc").string(), (root_ / "cgroup").string()}; }
  void write(const std::string& path, std::string_view text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path, std::ios::binary) << text;
  }
  void put(const FakeProcess& p) const {
    std::string folder = "proc/" + std::to_string(p.pid) + "/";
    auto n = [](auto value) { return std::to_string(value); };
    write(folder + "stat", n(p.pid) + " (" + p.name + ") " + p.state + " " + n(p.parent) + " " +
                               n(p.session) + " " + n(p.session) + " 0 -1 4194304 " + n(p.faults) +
                               " 0 0 0 " + n(p.cpu_ticks) + " 0 0 0 20 0 1 0 " + n(p.start) + " 3133440 " +
                               n(p.resident_pages) + " 18446744073709551615 0 0\n");
    write(folder + "statm", "2000 " + n(p.resident_pages) + " " + n(p.shared_pages) + " 5 0 123 0\n");
    write(folder + "cmdline", std::string_view("python\0train.py\0", 16));
    write(folder + "status", "Name:\tx\nVmRSS:\t 4000 kB\nVmSwap:\t " + n(p.swap_kb) + " kB\nThreads:\t1\n");
    if (p.smaps)
      write(folder + "smaps_rollup",
            "0-1 ---p 0 00:00 0 [rollup]\nRss: 4000 kB\nPss: " + n(p.pss_kb) +
                " kB\nShared_Clean: " + n(p.shared_kb) + " kB\nPrivate_Dirty: " + n(p.private_kb) +
                " kB\nSwap: " + n(p.swap_kb) + " kB\nSwapPss: " + n(p.swap_kb) + " kB\n" +
                (p.file_kb < 0 ? "" : "Pss_File: " + n(p.file_kb) + " kB\n"));
  }
  void remove(int pid) const { std::filesystem::remove_all(root_ / "proc" / std::to_string(pid)); }

 private:
  std::filesystem::path root_;
};

}  // namespace plimsoll::testing
