// How a watch is shown: live lines while it runs, the verdict by process at the end, JSON.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "observe/judgement.hpp"
#include "observe/process.hpp"

namespace plimsoll::observe {

struct Progress {
  std::optional<int64_t> step;
  std::string phase;
};

// One line: time, memory, processes, step, what is left.
std::string live_line(const Snapshot& snapshot, const Progress& progress);
// The verdict, the processes with their roles, what to know about the measurement.
std::string final_text(const Judgement& judgement, const History& history,
                       const std::vector<std::string>& notes);
// One line of JSON as documented in docs/watch.md; with `all` each process's own verdict too.
std::string final_json(const Judgement& judgement, const History& history, double until, bool all);

}  // namespace plimsoll::observe
