// Keeps the run file: steps, evaluations, memory, phases, events and finally the verdict.
#pragma once
#include "platform/clock.hpp"
#include "record/run_record.hpp"
#include "train/observer.hpp"
#include "train/picture_samples.hpp"
#include "train/prepare.hpp"
#include "train/rank_figures.hpp"
#include "train/step_rows.hpp"
#include "verdict/verdict.hpp"

namespace plimsoll {

class RecordObserver final : public Observer {
 public:
  // Opens the record in the run's folder and writes down what is known before step 1. `people` are told what is wrong
  // with it.
  RecordObserver(const PreparedRun& run, Observer& people);

  // Seconds since the run began, the parts before a resume included.
  double now() const { return record_.now(); }
  void verdict(const verdict::Verdict& verdict);
  void pictures(const PictureSamples& samples);
  // What each rank holds, as far as it is known.
  void ranks(const std::vector<RankFigures>& figures);

  void phase(std::string_view name) override { record_.phase(name); }
  void step(const StepDone& step) override;
  void evaluated(const Evaluated& evaluated) override;
  void answered(uint64_t iteration, size_t picture, std::string_view text) override;
  void event(std::string_view kind, std::string_view text) override;

 private:
  static RunRecord open(const PreparedRun& run, Observer& people);

  Observer& people_;
  RunRecord record_;
  StepRows rows_{0};
  double floor_;
  bool error_said_ = false;
};

// The run's own time: its record's, or where another rank keeps that, the time since this process began the run.
class RunClock {
 public:
  explicit RunClock(const RecordObserver* record) : record_(record) {}
  double now() const { return record_ ? record_->now() : platform::monotonic_seconds() - began_; }

 private:
  const RecordObserver* record_;
  double began_ = platform::monotonic_seconds();
};

}  // namespace plimsoll
