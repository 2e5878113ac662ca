// A watch on a terminal: the tree with memory, growth and a sparkline for each process, the floor and the verdict.
#pragma once
#include <string>

#include "diagnose/history.hpp"
#include "diagnose/roles.hpp"
#include "observe/process.hpp"
#include "verdict/verdict.hpp"
#include "watch/step_track.hpp"

namespace plimsoll::watch {

struct WatchView {
  const observe::Snapshot& snapshot;
  const diagnose::Roles& roles;
  const diagnose::History& history;
  const verdict::Series& tree;
  const verdict::Verdict* verdict = nullptr;  // as far as is known
  Reached reached = {};
  std::string guard = {};  // its level in a word; empty: no guard
};

struct ViewStyle {
  int columns = 80, rows = 12;
  bool unicode = true, colour = true;
};

// Lines of at most `columns` columns, each ending in \n, control characters shown; the largest processes in the order
// of the tree.
std::string watch_view(const WatchView& view, const ViewStyle& style);

// `width` heights for a series' last values; shorter where there are fewer.
std::string sparkline(const verdict::Series& series, int width, bool unicode);

}  // namespace plimsoll::watch
