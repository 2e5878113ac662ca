// The memory that a tree holds in files (memfd, tmpfs) and has not mapped. No process's resident memory contains it; it
// is attributed to the process that has the file open for writing, or had.
#pragma once
#include <array>
#include <vector>

#include "observe/process.hpp"
#include "platform/memory_files.hpp"

namespace plimsoll::observe {

class HeldFiles {
 public:
  explicit HeldFiles(const proc::Files& files);
  // Sets `held` of every process; whether there is such a file. Allocates nothing; walks the page tables of
  // those that map shared memory where `may_read`. All shared memory of the others is taken for those files.
  bool measure(std::vector<Process>& processes, const std::function<bool(const Process&)>& may_read);

 private:
  struct File {
    uint64_t device = 0, inode = 0, bytes = 0;
    uint64_t mapped = 0;  // by the tree, proportionally: PSS contains it
    proc::ProcessId holder;
    bool open = false;
    std::array<char, 256> path{};  // empty where it is too long
  };
  void take(const MemoryFile& found, const proc::ProcessId& holder);
  void look_again(File& file) const;
  void measure_mapped(int pid);

  static constexpr size_t most_files = 512;
  const proc::Files& files_;
  MemoryFiles memory_files_;
  std::vector<File> held_;
  File* mapping_ = nullptr;  // that the lines of smaps being read are about
};

}  // namespace plimsoll::observe
