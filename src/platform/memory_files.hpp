// Files that are memory (memfd, tmpfs, /dev/shm) and that a process holds open for writing: what it writes to them is
// in no process's resident memory. Allocates nothing after construction.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/proc.hpp"

namespace plimsoll {

struct MemoryFile {
  uint64_t device = 0, inode = 0;
  uint64_t bytes = 0;     // of memory and swap it takes, not its length
  std::string_view path;  // as the process sees it; valid during the call
};

class MemoryFiles {
 public:
  explicit MemoryFiles(const proc::Files& files);
  void each_open(int pid, const std::function<void(const MemoryFile&)>& each) const;
  // The file at this path, if it is one in memory.
  static std::optional<MemoryFile> at(const char* path);

 private:
  bool in_memory(std::string_view path) const;
  std::string proc_;
  std::vector<std::string> mounts_;  // of tmpfs, each with a slash at the end
};

}  // namespace plimsoll
