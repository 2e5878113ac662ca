// Reads a run file for the verdict: the series of the whole tree, the data of each process, steps and
// phases.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "diagnose/history.hpp"
#include "diagnose/judgement.hpp"
#include "record/run_rows.hpp"
#include "verdict/start_up.hpp"
#include "verdict/step_marks.hpp"

namespace plimsoll::diagnose {

struct RecordedRun {
  verdict::Series tree{8192};
  History history;  // empty where the run recorded no processes
  verdict::StepMarks steps;
  std::vector<verdict::Phase> phases;
  double limit = 0;    // bytes; 0: none recorded
  double until = 0;    // what comes later is the program's end, or nothing
  bool ended = false;  // the watch saw the program end
  verdict::StartUp start_up;
  const char* step_unit = "step";
  std::optional<double> first_epoch_end;
  std::optional<verdict::Judgement>
      told;  // at the end of a profiled run: its lines knew more than the memory
};

bool is_run_file(const std::string& path);
// Of a resumed run the last session: it is a process of its own. Without memory samples its tree is empty.
RecordedRun recorded_run(const RunRows& rows);
// InputError if it is not a run file or holds no memory.
RecordedRun read_run(const std::string& path);
// What it is judged by; `limit` of 0 is the recorded one. The options point into `run`.
verdict::Options options_of(const RecordedRun& run, double limit = 0);
// What a profiled run said at its end, else a judgement of its memory.
Judgement judge_run(const RecordedRun& run, double limit = 0);

}  // namespace plimsoll::diagnose
