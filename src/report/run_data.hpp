// Everything a report shows of a run in plain rows, read from a run file or filled while a run is in
// progress.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "base/footprint.hpp"
#include "record/run_reader.hpp"

namespace plimsoll::report {

struct RunData {
  std::string name;  // what to call it: the file's name
  RunReader::Run run;
  std::vector<RunReader::Session> sessions;
  std::vector<std::pair<std::string, std::string>> configuration;
  std::vector<RunReader::Memory> memory;
  std::vector<RunReader::Process> processes;
  std::vector<ProcessSampleRow> samples;  // of all processes, in order of time
  std::vector<RunReader::Phase> phases;
  std::vector<RunReader::Event> events;
  std::vector<StepRow> steps;
  std::vector<EvaluationRow> evaluations;
  std::vector<RunReader::PlanValue> plan;
  std::vector<RunReader::Site> sites;
  std::string verdict;  // JSON as `plimsoll verdict --json` prints it; empty: none yet
  double line = 0;      // bytes not to cross; 0: none known
  double from = 0;      // the part that was judged: of a resumed run the last session,
  double until = 0;     // up to where the program began to end
};

// Reads the file and judges it as `plimsoll verdict` does; `line` of 0 is the recorded one. InputError if it is
// not a run file.
RunData read_run_data(const std::string& path, double line = 0);

}  // namespace plimsoll::report
