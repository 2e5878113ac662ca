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
    bool told = false;                 // a step over the socket: it has just ended
  };
  News take(const observe::Recognised& event, double time);
  // The phase the program is in ends with the watch.
  void end(double time);

  std::optional<int64_t> step() const { return counter_.step(); }
  Reached reached() const { return {counter_.step(), phases_.empty() ? "" : phases_.back().name}; }
  const std::vector<verdict::StepMark>& marks() const { return marks_.marks(); }
  const std::vector<verdict::Phase>& phases() const { return phases_; }
  double total() const { return double(total_); }  // steps the program means to do; 0: it does not say
  // What a mark counts: "logged step" where only some are told.
  const char* unit() const {
    return counter_.source() == observe::StepSource::dictionary ? "logged step" : "step";
  }
  // When the first pass over the data ended, infinity while it goes on; not set where epochs are not counted.
  std::optional<double> first_epoch_end() const { return first_epoch_end_; }

 private:
  bool begin_phase(const std::string& name, double time);
  void take_epoch(double epoch, double time);

  observe::StepCounter counter_;
  verdict::StepMarks marks_;
  std::optional<int64_t> last_;
  std::vector<verdict::Phase> phases_;
  int64_t total_ = 0;
  bool announced_ = false;  // the phase ends with the next step
  std::optional<double> first_epoch_, first_epoch_end_;
};

}  // namespace plimsoll::watch
