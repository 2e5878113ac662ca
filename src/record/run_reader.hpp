// Reads a run file, finished or still being written. Every call is one short read transaction, so a reader
// never holds back the writer.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "record/rows.hpp"

namespace plimsoll {

class RunReader {
 public:
  // InputError if `path` is not a run file this version can read.
  explicit RunReader(const std::filesystem::path& path);
  RunReader(RunReader&&) noexcept;
  RunReader& operator=(RunReader&&) noexcept;
  ~RunReader();

  struct Run {
    std::string kind, started, version, machine;  // started: UTC, ISO 8601
  };
  struct Session {  // a run and each of its resumptions
    std::string started, version;
    double time = 0;   // where it begins on the run's own clock
    int64_t step = 0;  // steps done before it
  };
  struct Memory : MemoryRow {
    std::string phase;
  };
  struct Process {
    int64_t id = 0, pid = 0, start_time = 0, parent = unknown_count;
    std::string name, arguments, role;
    double first_seen = unknown_real, ended = unknown_real;  // ended: NaN while alive
  };
  struct Phase {
    double time = 0;
    std::string name;
  };
  struct Event {
    double time = 0;
    std::string kind, text;
  };
  struct PlanValue {
    std::string name, role;
    int64_t offset = 0, bytes = 0, first = 0, last = 0;
  };
  struct Site {
    double time = 0;
    int64_t process = unknown_count;
    std::string stack;  // frames from the outermost inwards, one a line
    int64_t bytes = 0, blocks = unknown_count;
    double bytes_per_second = unknown_real;
  };
  struct Verdict {
    double time = 0;
    std::string json;
  };

  Run run() const;
  std::vector<Session> sessions() const;
  std::vector<std::pair<std::string, std::string>> configuration() const;
  std::vector<StepRow> steps() const;
  std::vector<EvaluationRow> evaluations() const;
  std::vector<Memory> memory() const;
  std::vector<Process> processes() const;
  std::vector<ProcessSampleRow> process_samples() const;            // all, in order of time
  std::vector<ProcessSampleRow> process_samples(int64_t id) const;  // of one process
  std::vector<Phase> phases() const;
  std::vector<Event> events() const;
  std::vector<PlanValue> plan() const;
  std::vector<Site> sites() const;        // largest first
  std::vector<Verdict> verdicts() const;  // the last is the final one

  // The series to judge: (seconds, bytes), PSS where known, else RSS.
  struct Series {
    std::vector<double> time, bytes;
  };
  Series memory_series() const;
  Series process_series(int64_t id) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll
