#include "train/checkpoints.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "tensor/finite.hpp"

namespace plimsoll {
namespace {

// Rank 0 writes, for all.
std::optional<CheckpointStore> open_store(const PreparedRun& run, StateText& state) {
  if (!run.team.first()) return std::nullopt;
  const Start& start = run.start;
  make_run_folder(start.folder, state.write(0, INFINITY, 0));
  const std::optional<uint64_t> resumed =
      start.checkpoint && start.same_folder ? std::optional(start.state.step) : std::nullopt;
  return std::optional<CheckpointStore>(std::in_place, start.folder, resumed, run.saved.settings.keep);
}

}  // namespace

Checkpoints::Checkpoints(const PreparedRun& run, Observer& tell)
    : tell_(tell),
      team_(run.team),
      model_(run.runtime->model_slots()),
      optimizer_(run.runtime->optimizer_slots()),
      state_(run.saved),
      store_(open_store(run, state_)),
      moments_(team_, optimizer_),
      best_loss_(run.start.state.best_loss),
      best_step_(run.start.state.best_step) {
  if (run.start.checkpoint && run.start.same_folder) handed_over_ = run.start.state.step;
  if (store_)
    store_->prepare(views(model_), views(optimizer_), state_.capacity(), run.runtime->staging(),
                    team_.alone() ? nullptr : &moments_);
}

void Checkpoints::evaluated(const Evaluated& e) {
  if (e.loss.loss < best_loss_) best_loss_ = e.loss.loss, best_step_ = e.iteration;
}

// A finite loss says nothing of the update made after it: what would be saved is looked at itself.
bool Checkpoints::is_finite() const {
  auto finite = [](const TensorSlot& slot) {
    return !slot.data || all_finite(slot.data, slot.dtype, slot.held() / size_of(slot.dtype));
  };
  return std::all_of(model_.begin(), model_.end(), finite) &&
         std::all_of(optimizer_.begin(), optimizer_.end(), finite);
}

bool Checkpoints::save(uint64_t iteration) {
  if (handed_over_ == iteration) return true;
  if (!team_.all(is_finite())) return false;
  tell_.phase("checkpoint");
  report_error("; the run continues, earlier checkpoints are intact");
  // Best by the newest evaluation: a checkpoint is the best one if it holds the parameters that were evaluated best.
  if (store_) {
    store_->save(iteration, state_.write(iteration, best_loss_, best_step_), best_step_ == iteration);
    moments_.drain();
  } else {
    moments_.serve();
  }
  handed_over_ = iteration;
  tell_.saved(iteration);
  tell_.phase("train");
  return true;
}

void Checkpoints::report_error(std::string_view consequence) {
  const auto error = store_ ? store_->take_error() : std::nullopt;
  if (!error) return;
  tell_.event("checkpoint", *error);
  tell_.note(fmt::format("warning: {}{}", *error, consequence));
}

void Checkpoints::settle() {
  wait();
  report_error("");
}

void Checkpoints::settle(uint64_t iteration) {
  wait();
  const bool missing = store_ && store_->last_step() != iteration;
  const bool failed = team_.any(missing);
  if (!failed) return report_error("");
  const auto error = store_ ? store_->take_error() : std::nullopt;
  fail("the last checkpoint could not be saved: {}", !store_ ? "rank 0 says why"
                                                     : error ? *error
                                                             : "it was not written");
}

}  // namespace plimsoll
