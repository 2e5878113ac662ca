// What is judged of a watched tree: the series of the whole and the history of each process. Evaluates the
// verdict while samples arrive and judges everything again at the end.
#pragma once
#include <deque>
#include <memory>

#include "diagnose/judgement.hpp"
#include "verdict/start_up.hpp"
#include "watch/step_track.hpp"

namespace plimsoll::watch {

class TreeJudge {
 public:
  TreeJudge();
  // Where the program is, as far as it says; before the sample it belongs to.
  void reached(const StepTrack& steps);
  // True where a leak is seen for the first time.
  bool add(const observe::Snapshot& snapshot, uint64_t limit);
  // A program that ends lets its processes go and gives memory back step by step; that says nothing about a leak.
  void leave_out_the_end();
  // The end: nothing is added any more. Returns up to when samples are judged; `otherwise` where there are none.
  double close(double otherwise);
  diagnose::Judgement judge(verdict::Options options, double until) const;

  const diagnose::History& history() const { return history_; }
  const verdict::Series& series() const { return series_; }
  const verdict::Verdict* current() const {
    return series_.size() || !late_.empty() ? &online_.current() : nullptr;
  }

 private:
  struct Late {
    double time;
    uint64_t bytes;
    size_t processes;
  };
  diagnose::History history_;
  verdict::Series series_{8192};
  std::deque<Late> late_;  // the newest samples wait here: those of a tree that is coming down are not judged
  verdict::StartUp start_up_;
  verdict::OnlineVerdict online_;  // for the moment a leak is first seen
};

}  // namespace plimsoll::watch
