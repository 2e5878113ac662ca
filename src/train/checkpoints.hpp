// The checkpoints of a run: what is saved, whether it may be saved, and which one is the best so far. Ranks save together:
// each of them makes the same calls, and rank 0 writes.
#pragma once
#include <optional>
#include <vector>

#include "checkpoint/store.hpp"
#include "train/moment_stream.hpp"
#include "train/observer.hpp"
#include "train/prepare.hpp"

namespace plimsoll {

class Checkpoints final : public Observer {
 public:
  // Makes the run's folder. Problems with saving are told to `tell`.
  Checkpoints(const PreparedRun& run, Observer& tell);

  // Whether parameters and moments are numbers; what is not is never saved. Nothing is done where this iteration was
  // handed over already.
  bool save(uint64_t iteration);
  // Returns when nothing is being written.
  void wait() {
    if (store_) store_->wait();
  }
  // Waits until what was handed over is written. Where the checkpoint of `iteration` is not durable, Error; what else
  // went wrong on the way is a warning.
  void settle(uint64_t iteration);
  // As settle, without asking for a checkpoint.
  void settle();
  // The newest step that is durable, as rank 0 knows it.
  std::optional<uint64_t> last_step() const { return store_ ? store_->last_step() : std::nullopt; }

  // The iteration that was evaluated best; 0: none was.
  uint64_t best_step() const { return best_step_; }

  void evaluated(const Evaluated& evaluated) override;

 private:
  bool is_finite() const;
  void report_error(std::string_view consequence);

  Observer& tell_;
  const ranks::Team team_;
  const std::vector<TensorSlot> model_, optimizer_;
  StateText state_;
  std::optional<CheckpointStore> store_;  // of rank 0
  MomentStream moments_;
  double best_loss_;
  uint64_t best_step_;
  std::optional<uint64_t> handed_over_;
};

}  // namespace plimsoll
