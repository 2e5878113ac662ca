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

  using Run = BasicRun<std::string>;
  using Session = BasicSession<std::string>;
  struct Memory : MemoryRow {
    std::string phase;
  };
  using Process = BasicProcess<std::string>;
  struct Phase {
    double time = 0;
    std::string name;
  };
  using Event = BasicEvent<std::string>;
  using PlanValue = BasicPlanValue<std::string>;
  using PlanRole = BasicPlanRole<std::string>;
  using Site = BasicSite<std::string>;
  using Picture = BasicPicture<std::string>;
  using Answer = BasicAnswer<std::string>;
  using Verdict = BasicVerdict<std::string>;

  Run run() const;
  std::vector<Session> sessions() const;
  std::vector<std::pair<std::string, std::string>> configuration() const;
  std::vector<StepRow> steps() const;
  std::vector<EvaluationRow> evaluations() const;
  std::vector<Memory> memory() const;
  std::vector<Process> processes() const;
  std::vector<ProcessSampleRow> process_samples() const;  // of all processes, in the order of writing
  std::vector<Phase> phases() const;
  std::vector<Event> events() const;
  std::vector<PlanValue> plan() const;
  std::vector<PlanRole> plan_roles() const;
  std::vector<Site> sites() const;  // those that hold memory, largest first
  std::vector<Site> sites_and_freed() const;
  std::vector<Picture> pictures() const;
  std::vector<Answer> answers() const;
  std::vector<Verdict> verdicts() const;  // the last is the final one

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll
