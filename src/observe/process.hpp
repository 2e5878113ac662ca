// The types of this room: what is known of one process and of the whole tree at one moment.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/footprint.hpp"
#include "platform/cgroup.hpp"
#include "platform/pressure.hpp"
#include "platform/proc.hpp"

namespace plimsoll::observe {

struct Process {
  proc::ProcessId id;
  int parent = 0;
  std::string name;     // raw: pass through escape() before showing
  std::string command;  // masked and escaped
  char state = '?';     // as in proc(5): R, S, D, T stopped, Z zombie
  double first_seen = 0;
  uint64_t rss = 0;
  // Memory of its own: anonymous and shared-memory pages, each divided among those who share it. Read where
  // `pss_measured`, else carried on from the last reading by what RSS did since; its resident anonymous pages where
  // reading is denied.
  uint64_t owned = 0;
  // Pages of mapped files, divided likewise. They depend on who else maps the file and the kernel may drop them, so
  // they are shown and never judged.
  uint64_t file = 0;
  bool pss_measured = false, pss_denied = false;
  uint64_t swap = 0;                       // proportional where known
  uint64_t shmem = 0;                      // resident shared memory; read where asked for
  uint64_t held = 0;                       // in files that are memory and not mapped, likewise
  uint64_t private_bytes = 0, shared = 0;  // as of the last reading
  int threads = 0;
  int descriptors = -1;  // -1: may not look
  double cpu_seconds = 0;
  uint64_t gpu = 0;

  bool zombie() const { return state == 'Z' || state == 'X'; }
  bool stopped() const { return state == 'T' || state == 't'; }
  // What the process adds to the tree.
  uint64_t footprint() const {
    return uint64_t(plimsoll::footprint(int64_t(owned), int64_t(rss), int64_t(swap))) + held;
  }
};

struct System {
  uint64_t total = 0, available = 0;
  std::optional<cgroup::Limit> limit;
  std::optional<pressure::Pressure> pressure;
  // The tighter of the machine's memory and the control group's limit; 0: neither is known.
  uint64_t tightest_limit() const {
    if (!limit) return total;
    return total && total < limit->bytes ? total : limit->bytes;
  }
};

struct Snapshot {
  double time = 0;                     // seconds since watching began
  std::vector<Process> processes;      // by pid
  std::vector<proc::ProcessId> ended;  // seen in the snapshot before, not in this
  System system;
  // `bytes` is the sum of footprints.
  uint64_t bytes = 0, file = 0, rss = 0, swap = 0, private_bytes = 0, shared = 0, gpu = 0;
  bool pss_measured = false;  // every process's PSS was read for this snapshot
  size_t denied = 0;          // processes whose PSS may not be read

  size_t living() const {  // processes that are not zombies
    size_t count = 0;
    for (const Process& process : processes) count += !process.zombie();
    return count;
  }
};

}  // namespace plimsoll::observe
