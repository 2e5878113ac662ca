// The steps and phases reported by a watched program: one count from many sources, in bounded memory.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "observe/steps.hpp"
#include "verdict/step_marks.hpp"

namespace plimsoll::watch {

// Where the program is.
struct Reached {
  std::optional<int64_t> step;
  std::string phase;  // raw; empty: none said
};

class StepTrack {
 public:
  struct News {
    bool step = false, phase = false;  // another than before
  };
  News take(const observe::Recognised& event, double time);
  // The phase the program is in ends with the watch.
  void end(double time);

  std::optional<int64_t> step() const { return counter_.step(); }
  Reached reached() const { return {counter_.step(), phases_.empty() ? "" : phases_.back().name}; }
  const std::vector<verdict::StepMark>& marks() const { return marks_.marks(); }
  const std::vector<verdict::Phase>& phases() const { return phases_; }

 private:
  observe::StepCounter counter_;
  verdict::StepMarks marks_;
  std::optional<int64_t> last_;
  std::vector<verdict::Phase> phases_;
};

}  // namespace plimsoll::watch
