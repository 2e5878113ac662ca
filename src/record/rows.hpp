// The words of the run file: one plain struct a table, written by RunRecord and read back by RunReader.
// A negative integer or a NaN means "not known" and is stored as NULL. Times are seconds of a monotonic clock
// since the run began; sizes are bytes.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace plimsoll {

inline constexpr double unknown_real = std::numeric_limits<double>::quiet_NaN();
inline constexpr int64_t unknown_count = -1;

enum class RunKind { train, watch, guard };

struct StepRow {
  int64_t step = 0;
  double time = unknown_real;  // unknown: now
  double loss = unknown_real;
  double learning_rate = unknown_real;
  double tokens_per_second = unknown_real;
  double iterations_per_second = unknown_real;
  double gradient_norm = unknown_real;
  // The parts the loss is the sum of, where provenance weighs in it.
  double cross_entropy = unknown_real;
  double distrust = unknown_real;
};

struct EvaluationRow {
  int64_t step = 0;
  double time = unknown_real;  // unknown: now
  double loss = unknown_real;
  double floor = unknown_real;  // the data's entropy, where it is known exactly
};

// Memory of the whole run: the trainer alone, or the watched tree with shared pages counted once.
struct MemoryRow {
  double time = unknown_real;  // unknown: now
  int64_t step = unknown_count;
  int64_t rss = unknown_count;
  int64_t pss = unknown_count;
  int64_t private_bytes = unknown_count;
  int64_t shared = unknown_count;
  int64_t swap = unknown_count;
  int64_t processes = unknown_count;
  int64_t limit = unknown_count;
  int64_t available = unknown_count;
  int64_t gpu = unknown_count;
  double pressure = unknown_real;  // PSI memory "some", average of 10 s, percent
  bool pss_interpolated = false;
};

// A process is (pid, start time): a reused pid is a new process.
struct ProcessRow {
  int64_t pid = 0;
  int64_t start_time = 0;            // clock ticks since boot, as in /proc/PID/stat
  int64_t parent = unknown_count;    // id of the parent's row in this file
  double first_seen = unknown_real;  // unknown: now
  std::string_view name = {};
  std::string_view arguments = {};  // already masked by the caller
  std::string_view role = {};
};

struct ProcessSampleRow {
  int64_t process = 0;         // id as given by RunRecord::process
  double time = unknown_real;  // unknown: now
  int64_t rss = unknown_count;
  int64_t pss = unknown_count;
  int64_t private_bytes = unknown_count;
  int64_t shared = unknown_count;
  int64_t swap = unknown_count;
  int64_t threads = unknown_count;
  int64_t descriptors = unknown_count;
  double cpu = unknown_real;  // seconds of processor time used so far
  int64_t gpu = unknown_count;
  bool pss_interpolated = false;
};

// One value of the memory plan: where it lies in the arena and from which node to which it lives.
struct PlanRow {
  std::string_view name = {}, role = {};
  int64_t offset = 0, bytes = 0;
  int64_t first = 0, last = 0;
};

// A call site that holds memory: what it holds at `time` and how fast that grows.
struct SiteRow {
  double time = unknown_real;       // unknown: now
  int64_t process = unknown_count;  // id as given by RunRecord::process
  std::string_view stack = {};      // frames from the outermost to the one that allocates, one a line
  int64_t bytes = 0;                // not given back
  int64_t blocks = unknown_count;
  double bytes_per_second = unknown_real;  // growth of `bytes`
};

}  // namespace plimsoll
