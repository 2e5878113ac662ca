#include "guard/guard.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace plimsoll::guard {
namespace {

constexpr double mute_bounds =
    5;  // pressure that a whole pause did not end is not believed for so many bounds

Level above(Level level) { return Level(int(level) + 1); }

bool is_use(Cause cause) {
  return cause == Cause::use || cause == Cause::growth || cause == Cause::bound || cause == Cause::alone;
}

}  // namespace

const char* cause_name(Cause cause) {
  constexpr const char* names[] = {"calm", "use",      "growth", "prediction",
                                   "leak", "pressure", "bound",  "alone"};
  return names[size_t(cause)];
}

void Guard::no_more_pauses() {
  may_pause_ = false;
  if (level_ == Level::pause) level_ = Level::warn, entered_ = wanted_at_ = now_;
}

// Time as the guard counts it. A clock that jumps, a machine that slept or a guard that was stopped must not
// look like minutes of calm or of pressure.
void Guard::advance(const Reading& reading) {
  const double step = reading.time - last_time_;
  const bool gap = !begun_ || !(step >= 0 && step <= policy_.longest_gap);
  step_ = begun_ ? std::clamp(step, 0.0, policy_.longest_gap) : 0;
  if (!(step_ >= 0)) step_ = 0;  // NaN
  now_ += step_;
  last_time_ = reading.time;
  if (gap || reading.source != source_ || reading.limit != limit_) rates_.clear();
  begun_ = true, source_ = reading.source, limit_ = reading.limit;
  if (reading.limit > 0) rates_.add(now_, reading.used);
}

uint64_t Guard::margin(const Reading& reading) const {
  return uint64_t(policy_.hysteresis_percentage / 100 * double(reading.limit));
}

Guard::Wanted Guard::by_use(const Reading& reading, const Lines& lines) const {
  const double soon = double(reading.used) + rates_.fast() * (policy_.reaction + reading.late);
  for (Level level : {Level::stop, Level::pause, Level::shrink, Level::warn}) {
    const uint64_t line = lines.of(level);
    // A stop because a pause did not help holds until the pause would have ended.
    const bool after_pause = level_ == Level::stop && (cause_ == Cause::bound || cause_ == Cause::alone);
    if (level == Level::stop && after_pause && reading.used + margin(reading) >= lines.pause)
      return {level, cause_};
    if (reading.used >= line) return {level, Cause::use};
    // A line that use has crossed is left only well below it.
    if (level_ >= level && is_use(cause_) && reading.used + margin(reading) >= line)
      return {level, Cause::use};
    if (level >= Level::pause && soon >= double(line)) return {level, Cause::growth};
  }
  return {};
}

// Growth that reaches the stop line within the horizon raises the level by one, but only as far as what does
// no harm: a warning, a smaller batch.
void Guard::predict(const Reading& reading, const Lines& lines, Decision& decision, Wanted& wanted) {
  decision.rate = std::max(rates_.floor(), reading.leak_rate.value_or(0));
  if (decision.rate <= 0 || reading.used >= lines.stop) {
    predicted_ = predicted_ && reading.used >= lines.stop;
  } else {
    const double seconds = double(lines.stop - reading.used) / decision.rate;
    decision.seconds_to_line = seconds;
    if (reading.steps_per_second) decision.steps_to_line = seconds * *reading.steps_per_second;
    predicted_ = seconds < policy_.prediction_horizon * (predicted_ ? 2 : 1);
    if (predicted_ && wanted.level < Level::shrink) wanted = {above(wanted.level), Cause::prediction};
  }
  if (wanted.level == Level::ok && reading.leak_per_step &&
      *reading.leak_per_step > policy_.memory_leak_threshold_mb * 1e6)
    wanted = {Level::warn, Cause::leak};
}

// Waiting for memory says that something is short, not how much is left: it adds one level to what use says,
// and never stops anything.
void Guard::feel_pressure(const Reading& reading, Wanted& wanted) {
  const double line = policy_.pressure_threshold_percentage * (pressed_ ? 0.5 : 1);
  pressed_ = reading.pressure >= line && now_ >= muted_until_;
  if (pressed_ && wanted.level < Level::pause) wanted = {above(wanted.level), Cause::pressure};
}

// What cannot be done is replaced by the milder thing that can.
void Guard::confine(Wanted& wanted) const {
  if (wanted.level == Level::shrink && !can_shrink_)
    wanted.level = wanted.cause == Cause::pressure ? Level::pause : Level::warn;
  // After a stop there is nothing left that a pause could spare.
  if (wanted.level == Level::pause && (!may_pause_ || level_ == Level::stop))
    wanted.level = can_shrink_ ? Level::shrink : Level::warn;
}

void Guard::shrink_before_pause(const Reading& reading, const Lines& lines, Wanted& wanted) const {
  if (wanted.level != Level::pause || !can_shrink_ || level_ == Level::pause) return;
  const bool no_time = double(reading.used) + rates_.fast() * policy_.shrink_patience >= double(lines.stop);
  const bool tried = level_ == Level::shrink && now_ - entered_ >= policy_.shrink_patience;
  if (!no_time && !tried) wanted.level = Level::shrink;
}

// Every pause ends: by calm, or at its bound by stopping where use is the reason and by going on where
// pressure alone is.
void Guard::end_pause(const Reading& reading, Wanted& wanted) {
  forced_ = false;
  if (level_ < Level::pause && now_ - left_pause_ >= policy_.pause_bound) paused_ = 0;
  if (level_ != Level::pause) return;
  paused_ += step_;
  const bool full = wanted.level >= Level::pause && is_use(wanted.cause);
  // If others hold less than a tenth, nothing can be released while this program is paused.
  const bool alone = full && reading.own && double(*reading.own) >= 0.9 * double(reading.used);
  if (alone && now_ - entered_ >= policy_.pause_alone) {
    wanted = {Level::stop, Cause::alone};
  } else if (paused_ >= policy_.pause_bound) {
    wanted = full ? Wanted{Level::stop, Cause::bound} : Wanted{Level::warn, Cause::bound};
    muted_until_ = now_ + mute_bounds * policy_.pause_bound;
    paused_ = 0;
    forced_ = !full;
  }
}

bool Guard::enter(const Wanted& wanted) {
  if (wanted.level >= level_) wanted_at_ = now_;
  if (wanted.level == level_) {
    if (is_use(wanted.cause)) cause_ = wanted.cause;
    if (wanted.level != Level::shrink || wanted.cause == Cause::calm) return false;
    const bool again = now_ - shrink_asked_ >= policy_.shrink_patience;
    if (again) shrink_asked_ = now_;
    return again;
  }
  const double dwell = level_ >= Level::pause ? policy_.pause_dwell : policy_.dwell;
  const bool up = wanted.level > level_;
  if (!up && !forced_ && now_ - wanted_at_ < dwell) return false;
  if (level_ == Level::pause) left_pause_ = now_;
  level_ = wanted.level, cause_ = wanted.cause;
  entered_ = wanted_at_ = now_;
  if (level_ == Level::shrink) shrink_asked_ = now_;
  return up;
}

Decision Guard::observe(const Reading& reading) {
  advance(reading);
  Decision decision;
  decision.before = level_;
  decision.limit = reading.limit, decision.used = reading.used;
  decision.soon = reading.used + uint64_t(rates_.fast() * (policy_.reaction + reading.late));
  decision.lines = policy_.lines(reading.limit);
  Wanted wanted;
  if (reading.limit > 0) {
    wanted = by_use(reading, decision.lines);
    predict(reading, decision.lines, decision, wanted);
    feel_pressure(reading, wanted);
  }
  confine(wanted);
  shrink_before_pause(reading, decision.lines, wanted);
  end_pause(reading, wanted);
  decision.act = enter(wanted);
  decision.level = level_, decision.changed = level_ != decision.before;
  decision.cause = decision.changed || decision.act ? wanted.cause : cause_;
  decision.poll = next_poll(reading, decision.lines);
  explain(reading, decision);
  return decision;
}

// Often enough that memory filled as fast as it can be is seen before it is gone, and that a line crossed
// slowly is seen within 50 ms; no oftener.
double Guard::next_poll(const Reading& reading, const Lines& lines) const {
  if (reading.limit == 0) return 1;
  const double fill = std::max(policy_.fastest_fill, rates_.fast());
  const uint64_t room = reading.limit - std::min(reading.limit, reading.used);
  const double left = double(std::min(room, reading.room.value_or(room))) / fill;
  double next_line = double(reading.limit);
  for (Level level : {Level::stop, Level::pause, Level::shrink, Level::warn})
    if (lines.of(level) > reading.used) next_line = double(lines.of(level));
  const double mild = std::clamp((next_line - double(reading.used)) / fill / 2, 0.05, 1.0);
  // What is paused does not fill any more, once a long system call has ended; others may.
  const double least = level_ == Level::pause && now_ - entered_ > 0.1 ? 0.01 : 0.001;
  return std::clamp(0.4 * left, least, mild);
}

void Guard::explain(const Reading& reading, Decision& decision) const {
  auto write = [&]<typename... Args>(fmt::format_string<Args...> format, Args&&... args) {
    auto end =
        fmt::format_to_n(decision.text.data(), decision.text.size() - 1, format, std::forward<Args>(args)...);
    *end.out = '\0';
  };
  // Short strings: these stay within their own objects and allocate nothing.
  const std::string used = format_bytes(reading.used), limit = format_bytes(reading.limit);
  if (reading.limit == 0) return write("no limit is known");
  const Level named = std::max(Level::warn, decision.level);
  const std::string line = format_bytes(decision.lines.of(named));
  switch (decision.cause) {
    case Cause::use:
      return write("{} of {} used, the {} line is {}", used, limit, level_name(named), line);
    case Cause::growth:
      return write("{} of {} used, growing by {} per second: the {} line of {} is reached", used, limit,
                   format_bytes(uint64_t(rates_.fast())), level_name(named), line);
    case Cause::prediction: {
      const std::string rate = format_bytes(uint64_t(decision.rate)),
                        stop = format_bytes(decision.lines.stop);
      const double seconds = decision.seconds_to_line.value_or(0);
      if (decision.steps_to_line)
        return write(
            "{} of {} used; at {} per second the stop line of {} is crossed in {:.0f} s, after {:.0f} steps",
            used, limit, rate, stop, seconds, *decision.steps_to_line);
      return write("{} of {} used; at {} per second the stop line of {} is crossed in {:.0f} s", used, limit,
                   rate, stop, seconds);
    }
    case Cause::leak:
      return write("a leak of {} per step, more than {:g} MB",
                   format_bytes(uint64_t(reading.leak_per_step.value_or(0))),
                   policy_.memory_leak_threshold_mb);
    case Cause::pressure:
      return write("{} of {} used; all tasks waited for memory {:.0f} % of the last 10 s", used, limit,
                   reading.pressure);
    case Cause::bound:
      return write("{} of {} used; a pause of {:.0f} s did not help", used, limit, policy_.pause_bound);
    case Cause::alone:
      return write("{} of {} used, {} of it by the paused program itself: waiting cannot help", used, limit,
                   format_bytes(reading.own.value_or(0)));
    case Cause::calm:
      return write("{} of {} used", used, limit);
  }
}

}  // namespace plimsoll::guard
