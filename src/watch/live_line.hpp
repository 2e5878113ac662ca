// A watch in one line, for where there is no terminal to draw on.
#pragma once
#include <optional>
#include <string>

#include "observe/process.hpp"

namespace plimsoll::watch {

struct Progress {
  std::optional<int64_t> step;
  std::string phase;
};

// Time, memory, processes, step, what is left.
std::string live_line(const observe::Snapshot& snapshot, const Progress& progress);

}  // namespace plimsoll::watch
