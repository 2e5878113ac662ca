// The actions of the guard in a run, each with its effect: printed as a line, recorded as an event, and
// listed at the end. Uses memory allocated at the start.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "guard/policy.hpp"
#include "train/observer.hpp"

namespace plimsoll {

struct GuardAction {
  enum class Kind : uint8_t { warn, shrink, grow, pause, resume, stop, eased };
  Kind kind = Kind::warn;
  uint64_t iteration = 0;  // done when it happened
  double time = 0;         // seconds since the run began
  double seconds = 0;      // how long it took; of a pause that has ended, how long it lasted
  uint64_t rss_before = 0, rss_after = 0;
  int64_t planned = 0;      // bytes by which resident memory was to change
  int micro_batch = 0;      // from here on
  uint64_t plan_bytes = 0;  // from here on
  std::array<char, 200> reason{};

  void because(std::string_view text);
  // Whether memory changed by what was planned, as far as the kernel's counting and huge pages allow to say.
  bool as_planned() const;
};
const char* action_name(GuardAction::Kind kind);

// What a run tells about its guard at the end.
struct GuardReport {
  bool on = false;
  guard::Level level = guard::Level::ok;
  uint64_t limit = 0;  // bytes, of the limit nearest to being reached; 0: none known
  std::vector<GuardAction> actions;
  uint64_t unlisted = 0;  // actions beyond those listed; the record has them all
};

class GuardLog {
 public:
  explicit GuardLog(Observer& tell);
  void add(const GuardAction& action);
  const std::vector<GuardAction>& actions() const { return actions_; }
  uint64_t unlisted() const { return unlisted_; }

 private:
  Observer& tell_;
  std::vector<GuardAction> actions_;
  uint64_t unlisted_ = 0;
};

}  // namespace plimsoll
