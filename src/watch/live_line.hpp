// A watch in one line, for output that is not a terminal.
#pragma once
#include <string>

#include "observe/process.hpp"
#include "watch/step_track.hpp"

namespace plimsoll::watch {

// Time, memory, processes, step, what is left.
std::string live_line(const observe::Snapshot& snapshot, const Reached& reached);

}  // namespace plimsoll::watch
