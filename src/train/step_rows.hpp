// Determines which steps get a row in the record or the metrics file, and what the row contains.
#pragma once
#include <optional>

#include "record/rows.hpp"
#include "train/observer.hpp"

namespace plimsoll {

// A row every tenth of a second, for every `log_every`th step (0: none for that reason) and for the last one.
class StepRows {
 public:
  explicit StepRows(int log_every) : log_every_(static_cast<uint64_t>(log_every)) {}

  std::optional<StepRow> row(const StepDone& step) {
    const bool logged = log_every_ && step.iteration % log_every_ == 0;
    const double since = step.time - last_time_;
    if (since < interval && !logged && step.iteration != step.iterations) return std::nullopt;
    const double speed =
        last_iteration_ && since > 0 ? double(step.iteration - last_iteration_) / since : unknown_real;
    const double waited = step.waited - last_waited_;
    last_waited_ = step.waited;
    last_time_ = step.time;
    last_iteration_ = step.iteration;
    return StepRow{.step = int64_t(step.iteration),
                   .time = step.time,
                   .loss = step.loss,
                   .learning_rate = step.learning_rate,
                   .tokens_per_second = speed * double(step.tokens),
                   .iterations_per_second = speed,
                   .gradient_norm = step.gradient_norm,
                   .cross_entropy = step.cross_entropy,
                   .distrust = step.loss - step.cross_entropy,
                   .waited = waited};
  }

 private:
  static constexpr double interval = 0.1;  // seconds
  uint64_t log_every_, last_iteration_ = 0;
  double last_time_ = 0, last_waited_ = 0;
};

}  // namespace plimsoll
