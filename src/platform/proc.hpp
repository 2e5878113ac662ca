// Reads /proc. The parsers are pure functions of text and never throw; `Files` reads below a configurable
// root, so a test can supply its own /proc.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::proc {

// Where the kernel's two text file systems are mounted.
struct Roots {
  std::string proc = "/proc";
  std::string cgroup = "/sys/fs/cgroup";
};

// A process is its pid and the moment it started: a reused pid is another process.
struct ProcessId {
  int pid = 0;
  uint64_t start_ticks = 0;  // clock ticks since boot
  auto operator<=>(const ProcessId&) const = default;
};

struct Stat {
  ProcessId id;
  std::string name;  // as the process set it: parentheses, newlines and escape codes included
  char state = '?';
  int parent = 0, group = 0, session = 0, threads = 0;
  bool exiting = false;  // giving its memory back: what is left of it says nothing
  uint64_t faults = 0;   // minor + major; unchanged faults mean no page was added
  uint64_t cpu_ticks = 0;
  uint64_t resident_pages = 0;
};
std::optional<Stat> parse_stat(std::string_view text);

struct Statm {
  uint64_t resident_pages = 0, shared_pages = 0;
};
std::optional<Statm> parse_statm(std::string_view text);

struct Status {
  uint64_t resident = 0, swap = 0, shmem = 0;  // bytes
  int user = -1, threads = 0;
  uint64_t ignored_signals = 0;  // bit n-1 for signal n
};
Status parse_status(std::string_view text);

// Sums over smaps, or the one entry of smaps_rollup; bytes.
struct Smaps {
  uint64_t rss = 0, pss = 0, private_bytes = 0, shared = 0, swap = 0, swap_pss = 0;
  uint64_t pss_file = 0;   // the part of `pss` that files back
  bool pss_split = false;  // the kernel (5.4 and later) says which part that is
  // Takes in one line of either file; false where the line carries nothing we keep.
  bool add_line(std::string_view line);
};
std::optional<Smaps> parse_smaps(std::string_view text);  // nullopt where no Pss line was seen

// The file behind a mapping, from its first line in smaps or maps; nullopt for other lines, zeros where there is none.
struct Mapping {
  uint64_t device = 0, inode = 0;
};
std::optional<Mapping> parse_mapping(std::string_view line);

std::vector<std::string> parse_cmdline(std::string_view text);
// File names without folders mapped by a process, each once, in order of appearance.
void add_mapped_library(std::string_view maps_line, std::vector<std::string>& libraries);

struct MemoryInfo {
  uint64_t total = 0, available = 0, free = 0, swap_total = 0, swap_free = 0;  // bytes
  uint64_t shmem = 0;  // shared memory, tmpfs and memfd of everybody
};
std::optional<MemoryInfo> parse_meminfo(std::string_view text);

// One line of mountinfo, where it could be read.
struct Mount {
  std::string root, point, type, options;  // options: of the mount, then of the file system, comma-separated
};
std::vector<Mount> parse_mountinfo(std::string_view text);

enum class Read { ok, gone, denied };

class Files {
 public:
  explicit Files(const Roots& roots = {});
  ~Files();
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  const Roots& roots() const { return roots_; }
  // Numeric entries of the root, ascending.
  void list(std::vector<int>& pids) const;
  // At most `most` bytes; a process that vanishes meanwhile is `gone`.
  Read read(int pid, const char* file, std::string& text, size_t most = 65536) const;
  Read read(const char* file, std::string& text, size_t most = 65536) const;
  // Line by line in bounded memory, for files that can be many megabytes.
  Read each_line(int pid, const char* file, const std::function<void(std::string_view)>& line) const;

  std::optional<Stat> stat(int pid) const;
  // smaps_rollup, or smaps where the kernel has no rollup. `denied` where we may not look.
  Read smaps(int pid, Smaps& sum) const;
  // Open descriptors; -1 where we may not look.
  int descriptors(int pid) const;
  // The pid given out last: while it stays, no process or thread was started. 0 where the kernel does not say.
  int newest_pid() const;
  // Whether the mount hides processes of other users (hidepid).
  bool hides_processes() const;

 private:
  Roots roots_;
  int folder_ = -1;
  mutable std::string buffer_;
};

uint64_t page_size();
double ticks_per_second();

}  // namespace plimsoll::proc
