// `--metrics FILE`: steps and evaluations as JSON lines (docs/formats/metrics.md).
#pragma once
#include "record/metrics_file.hpp"
#include "train/observer.hpp"
#include "train/step_rows.hpp"

namespace plimsoll {

class MetricsObserver final : public Observer {
 public:
  MetricsObserver(const std::filesystem::path& file, int log_every, std::optional<double> floor)
      : file_(file), rows_(log_every), floor_(floor.value_or(unknown_real)) {}

  void step(const StepDone& step) override {
    if (const auto row = rows_.row(step)) file_.step(*row);
  }
  void evaluated(const Evaluated& e) override {
    file_.evaluation({.step = int64_t(e.iteration), .time = e.time, .loss = e.loss.loss, .floor = floor_});
  }

 private:
  MetricsFile file_;
  StepRows rows_;
  double floor_;
};

}  // namespace plimsoll
