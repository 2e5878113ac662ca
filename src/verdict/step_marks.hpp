// When each step was reached, in bounded memory: every other mark is dropped whenever the bound is reached.
#pragma once
#include <cmath>
#include <vector>

#include "verdict/verdict.hpp"

namespace plimsoll::verdict {

class StepMarks {
 public:
  // All memory is taken here: the trainer allocates nothing while it runs.
  StepMarks() { marks_.reserve(most); }
  // A count that goes back is a new one: what came before says nothing about its speed.
  void see(double time, double step) {
    if (!std::isfinite(time) || !std::isfinite(step)) return;
    if (!marks_.empty() && step < marks_.back().step) clear();
    if (!marks_.empty() && (time <= marks_.back().time || step == marks_.back().step)) return;
    if (provisional_) marks_.pop_back();
    if (marks_.size() == most) halve();
    marks_.push_back({time, step});
    provisional_ = ++seen_ % every_ != 0;  // the newest is always there, kept or not
  }
  void clear() { marks_.clear(), seen_ = 0, every_ = 1, provisional_ = false; }
  const std::vector<verdict::StepMark>& marks() const { return marks_; }

 private:
  static constexpr size_t most = 4096;
  void halve() {
    for (size_t i = 0; i < most / 2; ++i) marks_[i] = marks_[2 * i];
    marks_.resize(most / 2);
    every_ *= 2;
  }
  std::vector<verdict::StepMark> marks_;
  size_t seen_ = 0, every_ = 1;
  bool provisional_ = false;
};

}  // namespace plimsoll::verdict
