// All rows of a run file, read once, for whoever looks at a run that is over.
#pragma once
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "record/run_reader.hpp"

namespace plimsoll {

struct RunRows {
  RunReader::Run run;
  std::vector<RunReader::Session> sessions;
  std::vector<std::pair<std::string, std::string>> configuration;
  std::vector<RunReader::Memory> memory;
  std::vector<RunReader::Process> processes;
  std::vector<ProcessSampleRow> samples;  // of all processes
  std::vector<RunReader::Phase> phases;
  std::vector<RunReader::Event> events;
  std::vector<StepRow> steps;
  std::vector<EvaluationRow> evaluations;
  std::vector<RunReader::PlanValue> plan;
  std::vector<RunReader::PlanRole> plan_roles;
  std::vector<RunReader::Site> sites;
  std::vector<RunReader::Picture> pictures;
  std::vector<RunReader::Answer> answers;
  std::vector<RunReader::Verdict> verdicts;

  // Where the last session of a resumed run begins, else 0: a resumed run is a process of its own.
  double session_begin() const { return sessions.size() > 1 ? sessions.back().time : 0; }
};

// Bytes of the whole arena, as the trainer planned it; of a record too old to say so, up to its last value. 0: no
// plan.
int64_t plan_total(const std::vector<RunReader::PlanRole>& roles,
                   const std::vector<RunReader::PlanValue>& plan);

// What to call a run file: its name, with the folder it lies in where that is all that tells runs apart
// ("mine/run.db").
std::string run_name(const std::filesystem::path& path);

// In order of time, whatever the order in the file; rows whose time is not a number are left out. InputError if
// it is not a run file.
RunRows read_run_rows(const std::filesystem::path& path);

}  // namespace plimsoll
