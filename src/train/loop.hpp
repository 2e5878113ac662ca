// The training loop: steps, and when an evaluation, a sample or a checkpoint is due. It can be interrupted
// within a fraction of a second, by a signal or by the guard. After warm-up nothing is allocated. Ranks go through it in
// step: what one of them is asked to do, all of them do at the same iteration.
#pragma once
#include <array>
#include <chrono>
#include <optional>
#include <vector>

#include "platform/memory.hpp"
#include "platform/signals.hpp"
#include "train/checkpoints.hpp"
#include "train/generate.hpp"
#include "train/guarded.hpp"
#include "train/picture_samples.hpp"
#include "train/prepare.hpp"
#include "train/record_observer.hpp"

namespace plimsoll {

// Mean of the last values, for a final figure.
class RecentMean {
 public:
  void add(double value) { ring_[count_++ % ring_.size()] = value; }
  double mean() const;

 private:
  std::array<double, 100> ring_{};
  size_t count_ = 0;
};

class Loop {
 public:
  enum class End { finished, interrupted, diverged, stopped };  // stopped: by the guard

  // What the loop works with and whom it tells.
  struct Parts {
    PreparedRun& run;
    Observers& tell;
    Checkpoints& checkpoints;
    const RunClock& clock;
    const StopRequest& stop;
    OwnFloor& floor;
    Guarded* guard;  // null: off
  };
  explicit Loop(const Parts& parts);

  // From the run's step to the last iteration, a signal, the guard's word or a loss that is NaN or infinite; what was
  // reached is saved unless it diverged.
  End run();
  // The loss over `windows`; nothing where a signal or the guard ended it.
  std::optional<ValidationLoss> measure(const Evaluation& windows);

  uint64_t iterations() const { return done_; }  // done in all, those before a resume included
  // How a pass after run() that returned nothing was left.
  End left() const { return left_; }

  struct Figures {
    double loss, cross_entropy;  // means over the last steps
    double last_validation;      // NaN: none
    double seconds;              // of the loop
    double processor_share;      // of them, that its threads ran
    double median_step_seconds, first_step_seconds;
    uint64_t rss_after_warmup, rss_end;                // 0: no step was left to do
    std::optional<uint64_t> allocations_after_warmup;  // nothing: not counted, or too short a run
  };
  const Figures& figures() const { return figures_; }
  const PictureFeed& pictures() const { return pictures_; }
  const PictureSamples& picture_samples() const { return picture_samples_; }

 private:
  using Clock = std::chrono::steady_clock;
  void rehearse();
  std::optional<double> step();
  bool after_step(double loss);
  bool sample();
  bool ask_about_pictures();
  std::optional<std::string_view> ask(size_t picture);
  bool asked(bool step_begins);
  bool others_leave(bool leaving);
  Interrupt interrupt();
  bool attend();
  bool out_of_patience() const;
  End diverge(std::string_view what);
  End leave(End end);
  End close(End end);

  Parts parts_;
  PreparedRun& run_;
  Runtime& runtime_;
  const Settings& settings_;
  Generator generator_;
  PictureFeed pictures_;
  PictureSamples picture_samples_;
  std::vector<float> scratch_;   // for losses by provenance
  std::vector<float> received_;  // of rank 0: losses of another rank
  bool met_ = false;             // the ranks have agreed about this step
  OwnMemory memory_;
  RecentMean losses_, cross_entropies_;
  double gradient_norm_, cross_entropy_;  // of the last step
  uint64_t done_;
  End left_ = End::finished;
  uint64_t allocations_before_ = 0;
  Clock::time_point began_{};
  double used_before_ = 0;  // of the processors, by this process
  Figures figures_{};
};

}  // namespace plimsoll
