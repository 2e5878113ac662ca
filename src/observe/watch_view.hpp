// A watch on a terminal: the tree with memory, growth and a sparkline for each process, the floor and the verdict.
#pragma once
#include <string>

#include "observe/history.hpp"
#include "observe/process.hpp"
#include "observe/roles.hpp"
#include "observe/watch_output.hpp"
#include "verdict/verdict.hpp"

namespace plimsoll::observe {

struct WatchView {
  const Snapshot& snapshot;
  const Roles& roles;
  const History& history;
  const Series& tree;
  const verdict::Verdict* verdict = nullptr;  // as far as is known
  Progress progress = {};
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
std::string sparkline(const Series& series, int width, bool unicode);

}  // namespace plimsoll::observe
