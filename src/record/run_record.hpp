// Writes the run file (`run.db`, one SQLite file per run; docs/formats/run-db.md).
//
//   RunRecord record = RunRecord::create(folder / "run.db", {.kind = RunKind::train});
//   record.configuration("batch", "12");
//   for (...) record.step({.step = i, .loss = loss});        // never throws, never calls malloc
//   if (!record.error().empty()) say(record.error());        // full disk: recording paused, tried again
//   later
//
// Rows gather in a transaction that is committed every few hundred rows or every second, so a crash loses at
// most that; other processes can read all the while. When the file reaches its bound, old samples are
// thinned, keeping minima and maxima. After opening, all memory comes from the fixed heap of sqlite_heap.hpp.
// One thread at a time.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "record/rows.hpp"

namespace plimsoll {

struct RecordOptions {
  RunKind kind = RunKind::train;
  std::string machine = {};         // free text: processor, cores, memory; empty: asked of the system
  uint64_t max_bytes = 50'000'000;  // of the file; thinning keeps it below
  unsigned rows_per_commit = 500;
  double seconds_per_commit = 1.0;
  double retry_seconds = 10.0;  // after a failed write
};

class RunRecord {
 public:
  // Begins a new file; InputError if `path` exists already or cannot be written.
  static RunRecord create(const std::filesystem::path& path, const RecordOptions& options);
  // Goes on with the record of a run resumed after `step` (steps done so far): rows of later steps are
  // removed, time goes on from the last row. Creates the file if there is none; InputError if it is not a run
  // file.
  static RunRecord resume(const std::filesystem::path& path, const RecordOptions& options, int64_t step);

  RunRecord(RunRecord&&) noexcept;
  RunRecord& operator=(RunRecord&&) noexcept;
  ~RunRecord();  // commits

  // Seconds since the run began, monotonic; never decreases, even if the wall clock is set back.
  double now() const noexcept;

  void configuration(std::string_view key, std::string_view value) noexcept;  // replaces
  void step(const StepRow& row) noexcept;
  void evaluation(const EvaluationRow& row) noexcept;
  void memory(const MemoryRow& row) noexcept;  // gets the current phase
  // Returns the id which samples and children refer to.
  int64_t process(const ProcessRow& row) noexcept;
  void process_role(int64_t id, std::string_view role) noexcept;
  void process_ended(int64_t id, double time = unknown_real) noexcept;
  void process_sample(const ProcessSampleRow& row) noexcept;
  void phase(std::string_view name, double time = unknown_real) noexcept;
  void event(std::string_view kind, std::string_view text, double time = unknown_real) noexcept;
  void plan(const PlanRow& row) noexcept;
  void plan_role(const PlanRoleRow& row) noexcept;
  void clear_plan() noexcept;  // a resumed run plans anew
  void site(const SiteRow& row) noexcept;
  void clear_sites() noexcept;  // newer figures replace them
  void picture(const PictureRow& row) noexcept;
  void clear_pictures() noexcept;  // a resumed run shows its own
  void answer(const AnswerRow& row) noexcept;
  void verdict(std::string_view json, double time = unknown_real) noexcept;

  // Makes everything so far visible to readers and safe from a crash of this process.
  void commit() noexcept;

  // One line saying why recording is paused; empty while it works. Rows given meanwhile are counted and
  // dropped.
  std::string_view error() const noexcept;
  uint64_t dropped() const noexcept;
  // Bytes in use inside the file.
  uint64_t bytes() const noexcept;

 private:
  struct State;
  explicit RunRecord(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll
