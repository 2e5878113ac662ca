// The guard inside the trainer: reads the remaining memory as often as the policy requires and acts on the
// level by a warning, a smaller plan, a pause, or a stop with a checkpoint. Everything is prepared at the
// start; acting allocates nothing.
//
//   Guarded guard(policy, {runtime, corpus, tell, record, stop_request, floor});
//   executor.run(train, now, [&](int micro) { return !guard.wants(micro == 0) && (fill(micro), true); });
//   if (abandoned && guard.act(iterations_done) == Guarded::Then::stop) save_and_leave();
#pragma once
#include <array>
#include <chrono>
#include <optional>

#include "data/corpus.hpp"
#include "guard/guard.hpp"
#include "platform/guard_listener.hpp"
#include "platform/headroom.hpp"
#include "platform/memory.hpp"
#include "platform/signals.hpp"
#include "train/guard_log.hpp"
#include "train/own_floor.hpp"
#include "train/record_observer.hpp"
#include "train/runtime.hpp"

namespace plimsoll {

class Guarded final : public Observer {
 public:
  struct Parts {
    Runtime& runtime;
    const Corpus& corpus;
    Observer& tell;
    const RunClock& clock;
    const StopRequest& stop;
    OwnFloor& floor;
    ranks::Team team = {};  // the tightest rank decides for all
  };
  Guarded(const guard::Policy& policy, const Parts& parts);

  // Before every micro-batch: whether the step is to be put off for act(). Reads the clock, and memory when it is due;
  // what does no harm waits for the next step to begin.
  bool wants(bool step_begins);
  enum class Then { go_on, stop };
  // Between steps. Returns after a pause has ended.
  Then act(uint64_t iterations_done);
  // After the checkpoint of a stop: whether it is safe.
  void stopped(bool saved);

  void step(const StepDone& step) override {
    iteration_ = step.iteration, step_seconds_ = step.median_seconds;
  }
  GuardReport report() const;
  guard::Level level() const { return last_.level; }

 private:
  using Clock = std::chrono::steady_clock;
  guard::Reading reading();
  void look();
  void listen();
  void judge_floor();
  GuardAction begin(GuardAction::Kind kind, std::string_view reason) const;
  void shrink(std::string_view reason);
  size_t gear_with_room();
  void shift(size_t gear, GuardAction action);
  Then pause();
  // The highest level any rank is at, and what to say of it here.
  struct Agreed {
    std::optional<guard::Level> level;
    std::string_view reason;
  };
  Agreed agree(std::optional<guard::Level> level);

  Parts parts_;
  guard::Guard guard_;
  Headroom headroom_;
  OwnMemory memory_;
  GuardLog log_;
  GuardListener outside_;
  Clock::time_point began_ = Clock::now(), next_ = began_;
  guard::Decision last_;
  std::optional<guard::Level> due_;  // entered or asked for, not yet acted on
  bool eased_ = false, may_grow_ = false;
  bool asked_ = false;           // from outside, to shrink
  bool outside_calm_ = true;     // there is no outer guard, or its level is ok
  double no_growth_before_ = 0;  // seconds since began_
  uint64_t iteration_ = 0;
  double step_seconds_ = 0, look_cost_ = 1e-3;
  std::optional<double> leak_rate_, leak_per_step_;
  std::array<char, 64> other_rank_{};
};

}  // namespace plimsoll
