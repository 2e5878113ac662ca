// Shows the progress of a run through Progress.
#pragma once
#include <optional>
#include <string>

#include "train/observer.hpp"
#include "train/progress.hpp"

namespace plimsoll {

class ProgressObserver final : public Observer {
 public:
  // `floor` is the data's entropy where it is known; a sample has at most `sample_bytes`.
  ProgressObserver(const ProgressOptions& options, std::optional<double> floor, size_t sample_bytes);

  void step(const StepDone& step) override;
  void evaluated(const Evaluated& evaluated) override;
  void sampled(uint64_t iteration, std::string_view text) override;
  void note(std::string_view line) override { progress_.note(line); }
  void ended() override { progress_.finish(); }

 private:
  Progress progress_;
  std::optional<double> floor_;
  std::string line_;  // reserved
};

}  // namespace plimsoll
