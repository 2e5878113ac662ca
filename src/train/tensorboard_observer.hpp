// `--tensorboard FOLDER`: losses, learning rate, speed, memory and samples for TensorBoard.
#pragma once
#include <cmath>

#include "record/event_file.hpp"
#include "train/observer.hpp"
#include "train/step_rows.hpp"

namespace plimsoll {

class TensorboardObserver final : public Observer {
 public:
  TensorboardObserver(const std::filesystem::path& folder, int log_every) : file_(folder), rows_(log_every) {}

  void step(const StepDone& step) override {
    const auto row = rows_.row(step);
    if (!row) return;
    const auto scalar = [&](const char* tag, double value) {
      if (!std::isnan(value)) file_.scalar(tag, row->step, value);
    };
    file_.scalar("train/loss", row->step, row->loss);
    scalar("train/learning_rate", row->learning_rate);
    scalar("train/gradient_norm", row->gradient_norm);
    scalar("train/tokens_per_second", row->tokens_per_second);
    scalar("memory/resident_mb", double(step.resident) / 1e6);
    scalar("memory/plan_mb", double(step.plan_bytes) / 1e6);
  }
  void evaluated(const Evaluated& e) override {
    file_.scalar("validation/loss", int64_t(e.iteration), e.loss.loss);
  }
  void sampled(uint64_t iteration, std::string_view text) override {
    file_.text("sample", int64_t(iteration), text);
  }

 private:
  EventFile file_;
  StepRows rows_;
};

}  // namespace plimsoll
