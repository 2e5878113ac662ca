// What a watch shows while it runs: the tree at the bottom of a terminal, otherwise an occasional line.
#pragma once
#include <functional>
#include <string>
#include <utility>

#include "live/terminal.hpp"
#include "watch/step_track.hpp"
#include "watch/tree_judge.hpp"

namespace plimsoll::watch {

class Console {
 public:
  // `to` is one of the standard streams. A quiet one only says what it is told to.
  Console(int to, bool quiet) : to_(to), quiet_(quiet), rows_(to) {}

  // A program shares the stream: `mid_line` tells whether it is in the middle of a line, as bars always are.
  void beside(std::function<bool()> mid_line) { mid_line_ = std::move(mid_line); }
  void say(const std::string& text) const;
  bool quiet() const { return quiet_; }
  // After every sample.
  void show(const observe::Snapshot& snapshot, const TreeJudge& judge, const Reached& reached);
  // The terminal has another size.
  void redraw(const observe::Snapshot& snapshot, const TreeJudge& judge, const Reached& reached);
  // Gives the rows at the bottom back.
  void close() { rows_.close(); }

 private:
  void draw(const observe::Snapshot& snapshot, const TreeJudge& judge, const Reached& reached);

  int to_;
  bool quiet_;
  live::BottomRows rows_;
  double next_line_ = 0;
  std::function<bool()> mid_line_;
};

}  // namespace plimsoll::watch
