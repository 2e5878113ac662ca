// The decisions of the guard: takes readings and returns a level. It uses no clock and no files and allocates
// nothing; the same readings give the same levels.
//
//   Guard guard(policy);
//   guard.can_shrink(true);                       // what is guarded listens
//   Decision d = guard.observe(headroom.read());  // again after d.poll seconds
//   if (d.act) apply(d.level);                    // entered from below, or a shrink that did not suffice
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "guard/policy.hpp"
#include "guard/rates.hpp"

namespace plimsoll::guard {

// How things stand at one moment, for the limit that is nearest to being reached.
struct Reading {
  double time = 0;                    // seconds of a monotonic clock
  uint64_t limit = 0;                 // bytes; 0: nothing is known, which is never a reason to act
  uint64_t used = 0;                  // of it, without what the kernel would give back (page cache)
  std::optional<uint64_t> room = {};  // the least bytes left of any limit: a small one fills sooner
  double late = 0;                    // seconds it took to read it: growth meanwhile is not in `used`
  int source = 0;                     // which limit it is; growth is not carried from one to another
  // Percent of the last 10 s in which all tasks waited for memory; 0 where the kernel does not say.
  double pressure = 0;
  std::optional<uint64_t> own = {};             // of `used`, held by what is guarded
  std::optional<double> leak_rate = {};         // bytes per second, if the verdict is a leak
  std::optional<double> leak_per_step = {};     // bytes per step, likewise
  std::optional<double> steps_per_second = {};  // to say "after 1,200 steps"
};

enum class Cause { calm, use, growth, prediction, leak, pressure, bound, alone };
const char* cause_name(Cause cause);

struct Decision {
  Level level = Level::ok, before = Level::ok;
  bool changed = false;
  bool act = false;  // do what the level says now: entered from below, or asked to shrink once more
  Cause cause = Cause::calm;
  double poll = 1;  // seconds until the next reading is wanted
  Lines lines;
  uint64_t limit = 0, used = 0;
  uint64_t soon = 0;  // use when something can be done about it, at the rate of the last moments
  double rate = 0;    // bytes per second by which the floor rises; 0 if it does not
  // Until the stop line at that rate; nullopt where use does not grow.
  std::optional<double> seconds_to_line, steps_to_line;
  std::array<char, 200> text{};  // why, for people

  std::string_view reason() const { return text.data(); }
  // Whether so much more would stay below every line. A level is left only after a dwell of calm, so what was
  // shrunk may grow back once the level is ok again and there is room.
  bool room_for(uint64_t bytes) const { return limit > 0 && used + bytes < lines.warn; }
};

class Guard {
 public:
  explicit Guard(const Policy& policy) : policy_(policy) {}

  // Whether what is guarded can give memory back when asked; once it has nothing left to give, say false.
  void can_shrink(bool can) { can_shrink_ = can; }
  bool can_shrink() const { return can_shrink_; }
  // What is guarded has just changed its use on purpose: the jump is no trend, its speed means nothing.
  void changed_on_purpose() { rates_.clear(); }
  // No pause from now on: an end has been asked for, and what is stopped cannot end.
  void no_more_pauses();

  Decision observe(const Reading& reading);
  Level level() const { return level_; }
  const Policy& policy() const { return policy_; }

 private:
  struct Wanted {
    Level level = Level::ok;
    Cause cause = Cause::calm;
  };
  void advance(const Reading& reading);
  uint64_t margin(const Reading& reading) const;
  Wanted by_use(const Reading& reading, const Lines& lines) const;
  void predict(const Reading& reading, const Lines& lines, Decision& decision, Wanted& wanted);
  void feel_pressure(const Reading& reading, Wanted& wanted);
  void confine(Wanted& wanted) const;
  void shrink_before_pause(const Reading& reading, const Lines& lines, Wanted& wanted) const;
  void end_pause(const Reading& reading, Wanted& wanted);
  bool enter(const Wanted& wanted);  // whether what the level says is to be done now
  double next_poll(const Reading& reading, const Lines& lines) const;
  void explain(const Reading& reading, Decision& decision) const;

  Policy policy_;
  Rates rates_;
  Level level_ = Level::ok;
  Cause cause_ = Cause::calm;
  bool can_shrink_ = false, may_pause_ = true;
  bool begun_ = false, predicted_ = false, pressed_ = false, forced_ = false;
  int source_ = 0;
  uint64_t limit_ = 0;
  // All on the guard's own time, which gaps and jumps of the clock do not reach.
  double last_time_ = 0, now_ = 0, step_ = 0;
  double entered_ = 0, wanted_at_ = 0, shrink_asked_ = -1e9, left_pause_ = -1e9, muted_until_ = -1e9;
  double paused_ = 0;  // seconds, over pauses that follow each other closely
};

}  // namespace plimsoll::guard
