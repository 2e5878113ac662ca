// The words of the run file: one plain struct a table, the same for writing and reading. tables.hpp says which
// column holds which field. A negative integer or a NaN means "not known" and is stored as NULL where the
// column allows it. Times are seconds of a monotonic clock since the run began; sizes are bytes.
//
// Rows with text are templates of its type: a view while a row is written, so that nothing is allocated, and a
// string where it is read.
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

template <typename Text>
struct BasicRun {
  Text kind = {}, started = {}, version = {}, machine = {};  // started: UTC, ISO 8601
};

// A run and each of its resumptions.
template <typename Text>
struct BasicSession {
  Text started = {}, version = {};
  double time = 0;   // where it begins on the run's own clock
  int64_t step = 0;  // steps done before it
};

template <typename Text>
struct BasicSetting {
  Text key = {}, value = {};
};

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
  double waited = unknown_real;  // seconds since the row before that pictures were waited for
};

struct EvaluationRow {
  int64_t step = 0;
  double time = unknown_real;  // unknown: now
  double loss = unknown_real;
  double floor = unknown_real;  // the data's entropy, where it is known exactly
};

// A picture of the validation part that the model is asked about at every evaluation.
template <typename Text>
struct BasicPicture {
  int64_t number = 0;  // what answers refer to
  Text name = {}, question = {}, answer = {};
  Text thumbnail = {};  // PNG, as base64
};

// What the model said about one of them.
template <typename Text>
struct BasicAnswer {
  int64_t step = 0;
  int64_t picture = 0;  // number of a picture
  Text text = {};
};

template <typename Text>
struct BasicPhaseName {
  int64_t id = 0;
  Text name = {};
};

// The moment a phase begins; it lasts until the next.
struct PhaseRow {
  double time = unknown_real;  // unknown: now
  int64_t phase_id = 0;        // of a phase name
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
  int64_t file = unknown_count;    // the share of file pages, which others may share; no part of `pss`
  double pressure = unknown_real;  // PSI memory "some", average of 10 s, percent
  bool pss_interpolated = false;
  int64_t phase_id = unknown_count;  // filled in by RunRecord
};

// A process is (pid, start time): a reused pid is a new process.
template <typename Text>
struct BasicProcess {
  int64_t id = 0;  // what samples and children refer to; given by RunRecord
  int64_t pid = 0;
  int64_t start_time = 0;            // clock ticks since boot, as in /proc/PID/stat
  int64_t parent = unknown_count;    // id of the parent's row in this file
  double first_seen = unknown_real;  // unknown: now
  Text name = {};
  Text arguments = {};  // already masked by the caller
  Text role = {};
  double ended = unknown_real;  // NaN while it lives
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

template <typename Text>
struct BasicEvent {
  double time = unknown_real;  // unknown: now
  Text kind = {}, text = {};
};

// One value of the memory plan: where it lies in the arena and from which node to which it lives.
template <typename Text>
struct BasicPlanValue {
  Text name = {}, role = {};
  int64_t offset = 0, bytes = 0;
  int64_t first = 0, last = 0;
};

// What a role holds at the fullest moment of the plan; the role "total" is the whole arena.
template <typename Text>
struct BasicPlanRole {
  Text role = {};
  int64_t bytes = 0;
};

// A call site that holds memory: what it holds at `time` and how fast that grows.
template <typename Text>
struct BasicSite {
  double time = unknown_real;       // unknown: now
  int64_t process = unknown_count;  // id as given by RunRecord::process
  Text stack = {};                  // frames from the outermost to the one that allocates, one a line
  int64_t bytes = 0;                // not given back
  int64_t blocks = unknown_count;
  double bytes_per_second = unknown_real;  // growth of `bytes`
  Text hint = {};                          // what to try about it; empty: nothing to say
  int64_t allocated_bytes = unknown_count, allocated_blocks = unknown_count;  // ever, given back or not
  Text place = {};  // the frame to name: the innermost of the program's own; empty: not known
};

// One of the ranks of a training run, told now and then by rank 0.
struct RankSampleRow {
  int64_t rank = 0;
  double time = unknown_real;  // unknown: now
  int64_t step = 0;
  int64_t rss = unknown_count;
  double step_seconds = unknown_real;      // median so far
  double waiting_seconds = unknown_real;   // of a step: for the other ranks to have done their part
  double exchange_seconds = unknown_real;  // of a step: on messages that nothing else was done beside
};

template <typename Text>
struct BasicVerdict {
  double time = unknown_real;  // unknown: now
  Text json = {};
};

using ProcessRow = BasicProcess<std::string_view>;
using PlanRow = BasicPlanValue<std::string_view>;
using PlanRoleRow = BasicPlanRole<std::string_view>;
using SiteRow = BasicSite<std::string_view>;
using PictureRow = BasicPicture<std::string_view>;
using AnswerRow = BasicAnswer<std::string_view>;

}  // namespace plimsoll
