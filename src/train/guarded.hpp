// The guard inside the trainer: looks at what is left of memory as often as the policy wants to know, and does what the
// level says - a word, a smaller plan, a pause, an end with a checkpoint. Everything is made ready at the start: acting
// allocates nothing.
//
//   Guarded guard(settings, {runtime, corpus, record, progress, stop_request});
//   executor.run(train, now, [&](int micro) { return !guard.wants(micro == 0) && (fill(micro), true); });
//   if (abandoned && guard.act(iterations_done) == Guarded::Then::stop) save_and_leave();
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "data/corpus.hpp"
#include "guard/guard.hpp"
#include "platform/headroom.hpp"
#include "platform/memory.hpp"
#include "platform/signals.hpp"
#include "record/run_record.hpp"
#include "train/guard_requests.hpp"
#include "train/own_floor.hpp"
#include "train/progress.hpp"
#include "train/runtime.hpp"
#include "train/settings.hpp"

namespace plimsoll {

// The policy the settings mean; InputError where they cannot be one.
guard::Policy guard_policy(const Settings& settings);

// One thing the guard did, and what came of it.
struct GuardAction {
  enum class Kind : uint8_t { warn, shrink, grow, pause, stop, eased };
  Kind kind = Kind::warn;
  uint64_t iteration = 0;             // done when it happened
  double time = 0, seconds = 0;       // since the run began; how long it took
  uint64_t rss_before = 0, rss_after = 0;
  int64_t promised = 0;               // bytes by which it was to change, as planned
  int micro_batch = 0;                // from here on
  std::array<char, 200> reason{};
};
const char* action_name(GuardAction::Kind kind);

// What a run tells about its guard.
struct GuardReport {
  bool on = false;
  guard::Level level = guard::Level::ok;
  uint64_t limit = 0;  // bytes; 0: none known
  std::string limit_name;
  std::vector<GuardAction> actions;
  uint64_t unlisted = 0;  // actions beyond those listed; the record has them all
};

class Guarded {
 public:
  struct Parts {
    Runtime& runtime;
    const Corpus& corpus;
    RunRecord& record;
    Progress& progress;
    const StopRequest& stop;
  };
  Guarded(const Settings& settings, const Parts& parts);

  // Before every micro-batch: whether the step is to be put off for act(). Reads the clock, and memory when it is due;
  // what can wait until the step's end does.
  bool wants(bool step_begins);
  enum class Then { go_on, stop };
  // Between steps. Returns after a pause has ended.
  Then act(uint64_t iterations_done);

  // After every step, with the process's resident bytes.
  void saw_step(uint64_t iteration, uint64_t resident, double step_seconds);
  verdict::Verdict judge_self() const { return floor_.judge(double(limit_)); }
  GuardReport report() const;

 private:
  using Clock = std::chrono::steady_clock;
  guard::Decision look();
  guard::Reading reading();
  void judge_floor();
  void note(GuardAction::Kind kind, std::string_view reason, const GuardAction& effect);
  void warn(const guard::Decision& why);
  void shrink(std::string_view reason, uint64_t excess);
  bool room_to_grow() const;
  void grow();
  Then pause(const guard::Decision& why);
  GuardAction begin(GuardAction::Kind kind) const;

  Parts parts_;
  guard::Policy policy_;
  guard::Guard guard_;
  bool on_;
  Headroom headroom_;
  OwnMemory memory_;
  OwnFloor floor_;
  GuardRequests requests_;
  Clock::time_point next_ = Clock::now();
  guard::Decision last_, pending_;
  bool asked_ = false;  // from outside, to shrink
  double quiet_until_ = 0;  // no growing back before, on the record's clock
  uint64_t limit_ = 0, iteration_ = 0, resident_ = 0;
  double step_seconds_ = 0;
  std::optional<double> leak_rate_, leak_per_step_;
  std::vector<GuardAction> actions_;
  uint64_t unlisted_ = 0;
};

}  // namespace plimsoll
