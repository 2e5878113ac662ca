#include "train/guarded.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "platform/clock.hpp"
#include "platform/machine.hpp"
#include "train/fitting.hpp"

namespace plimsoll {
namespace {

using guard::Level;
using Kind = GuardAction::Kind;

// At most this share of the time goes into looking, whatever a look costs here.
constexpr double share_for_looking = 0.01;
// Someone who asks, by a message or a signal, is not kept waiting longer.
constexpr double longest_deafness = 0.25;

double seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

Guarded::Guarded(const guard::Policy& policy, const Parts& parts)
    : parts_(parts),
      guard_(policy),
      headroom_(proc::Files(limit_roots()), platform::own_pid()),
      log_(parts.tell) {
  guard_.can_shrink(parts_.runtime.gears() > 1);
}

guard::Reading Guarded::reading() {
  const uint64_t owed = parts_.runtime.given_back();
  const Headroom::State now = headroom_.read(owed);
  const uint64_t own = memory_.resident() + owed;
  guard::Reading reading{
      .time = seconds(Clock::now() - began_),
      .limit = now.limit,
      .used = now.used,
      .room = now.room,
      .source = now.source,
      .pressure = now.pressure,
      .own = own,
      .leak_rate = leak_rate_,
      .leak_per_step = leak_per_step_,
      .steps_per_second = step_seconds_ > 0 ? std::optional(1 / step_seconds_) : std::nullopt};
  // What a rest gave back will be wanted again: it counts, so that a pause ends when the run fits and not when it has
  // made room by itself. It alone is no reason to stop, though.
  const guard::Lines lines = guard_.policy().lines(now.limit);
  if (owed && now.used < lines.stop)
    reading.used =
        std::max(now.used, std::min(now.used + owed, lines.pause + (lines.stop - lines.pause) / 2));
  if (const auto& line = guard_.policy().max_memory; line && now.limit) {
    const uint64_t most = line->of(now.limit);
    if (double(own) / double(most) > double(reading.used) / double(now.limit))
      reading.limit = most, reading.used = own, reading.source = -1;
  }
  return reading;
}

void Guarded::look() {
  const auto before = Clock::now();
  judge_floor();
  last_ = guard_.observe(reading());
  if (last_.act) due_ = std::max(due_.value_or(Level::ok), last_.level);
  if (last_.changed && last_.level < last_.before) eased_ = true;
  listen();
  may_grow_ = gear_with_room() < parts_.runtime.gear();
  // The cheapest look so far: one during which the system did something else says nothing.
  look_cost_ = std::min(look_cost_, seconds(Clock::now() - before));
  double wait = std::max(last_.poll, look_cost_ / share_for_looking);
  if (outside_.connected()) wait = std::min(wait, longest_deafness);
  next_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(wait));
}

// Says how far the run is; of what comes from outside the newest word counts.
void Guarded::listen() {
  if (iteration_) outside_.step(int64_t(iteration_));
  while (const auto level = outside_.next()) {
    asked_ = *level == "shrink";
    outside_calm_ = *level == "ok";
  }
}

// Judging allocates; it happens only when the floor has risen in a way that has to be explained.
void Guarded::judge_floor() {
  if (!parts_.floor.suspicious(guard_.policy().memory_leak_threshold_mb * 1e6)) return;
  const verdict::Verdict verdict = parts_.floor.judge(double(last_.limit));
  const bool leak = verdict.kind == verdict::Kind::leak;
  leak_rate_ = leak ? std::optional(verdict.rate) : std::nullopt;
  leak_per_step_ = leak ? verdict.rate_per_step : std::nullopt;
}

bool Guarded::wants(bool step_begins) {
  if (Clock::now() >= next_) look();
  const bool urgent = (due_ && *due_ >= Level::shrink) || asked_;
  return urgent || (step_begins && (due_ || eased_ || may_grow_));
}

GuardAction Guarded::begin(Kind kind, std::string_view reason) const {
  GuardAction action{.kind = kind, .iteration = iteration_, .time = parts_.clock.now()};
  action.rss_before = action.rss_after = memory_.resident();
  action.micro_batch = parts_.runtime.micro_batch(parts_.runtime.gear());
  action.plan_bytes = parts_.runtime.plan().total;
  action.because(reason);
  return action;
}

Guarded::Agreed Guarded::agree(std::optional<Level> level) {
  const auto own = uint64_t(parts_.team.rank());
  const uint64_t highest = parts_.team.max((level ? uint64_t(*level) + 1 : 0) << 32 | own);
  if (highest >> 32 == 0) return {};
  if ((highest & 0xffffffff) == own) return {level, last_.reason()};
  const auto end = fmt::format_to_n(other_rank_.data(), other_rank_.size(), "rank {} is short of memory",
                                    highest & 0xffffffff);
  return {Level((highest >> 32) - 1), {other_rank_.data(), std::min(end.size, other_rank_.size())}};
}

Guarded::Then Guarded::act(uint64_t iterations_done) {
  iteration_ = iterations_done;
  const auto [due, reason] = agree(std::exchange(due_, std::nullopt));
  const bool asked = parts_.team.any(std::exchange(asked_, false));
  const bool grows = parts_.team.any(std::exchange(may_grow_, false));
  if (std::exchange(eased_, false) && last_.used < last_.lines.shrink)
    log_.add(begin(Kind::eased, last_.reason()));
  if (asked) {
    const uint64_t before = parts_.runtime.plan().total;
    shrink("requested by the outer guard");
    outside_.shrunk(before - parts_.runtime.plan().total);
  }
  if (due == Level::warn) log_.add(begin(Kind::warn, reason));
  if (due == Level::shrink) shrink(reason);
  // What can still be made smaller need not stop yet: that takes milliseconds, and only its effect can tell.
  if (due == Level::pause || (due == Level::stop && guard_.can_shrink())) return pause();
  if (due == Level::stop) {
    log_.add(begin(Kind::stop, reason));
    return Then::stop;
  }
  // The look that found room may be a step old.
  if (grows && !due && !asked)
    if (const size_t gear = parts_.team.max(gear_with_room()); gear < parts_.runtime.gear())
      shift(gear, begin(Kind::grow, last_.reason()));
  return Then::go_on;
}

// By one plan, or by as many as bring use below the warn line again.
void Guarded::shrink(std::string_view reason) {
  Runtime& runtime = parts_.runtime;
  size_t gear = runtime.gear() + 1;
  if (gear >= runtime.gears()) return;
  const uint64_t excess = last_.used - std::min(last_.used, last_.lines.warn);
  while (gear + 1 < runtime.gears() && runtime.plan().total - runtime.plan_bytes(gear) < excess) ++gear;
  gear = parts_.team.max(gear);
  shift(gear, begin(Kind::shrink, reason));
  no_growth_before_ = seconds(Clock::now() - began_) + guard_.policy().dwell;
}

// The largest plan with which use would stay so far below the shrink line that the level would be left there: no back and
// forth. The one in use where there is none.
size_t Guarded::gear_with_room() {
  const Runtime& runtime = parts_.runtime;
  const size_t now = runtime.gear();
  if (now == 0 || !outside_calm_ || last_.level >= Level::shrink || last_.seconds_to_line ||
      seconds(Clock::now() - began_) < no_growth_before_)
    return now;
  const guard::Policy& policy = guard_.policy();
  size_t gear = 0;
  for (; gear < now; ++gear) {
    const uint64_t more = runtime.plan_bytes(gear) - runtime.plan().total;
    auto fits = [&](uint64_t used, uint64_t limit) {
      const auto margin = uint64_t(policy.hysteresis_percentage / 100 * double(limit));
      return used + more + margin < policy.lines(limit).shrink;
    };
    const Headroom::State then = headroom_.read(more);
    if (then.limit > 0 && fits(then.used, then.limit) &&
        (!policy.max_memory || fits(memory_.resident(), policy.max_memory->of(then.limit))))
      break;
  }
  return gear;
}

void Guarded::shift(size_t gear, GuardAction action) {
  Runtime& runtime = parts_.runtime;
  // What rests has given back more already; waking up will tell.
  if (!runtime.resting()) action.planned = int64_t(runtime.plan_bytes(gear)) - int64_t(runtime.plan().total);
  const auto before = Clock::now();
  runtime.shift(gear);
  action.seconds = seconds(Clock::now() - before);
  action.rss_after = memory_.resident();
  action.micro_batch = runtime.micro_batch(gear);
  action.plan_bytes = runtime.plan().total;
  log_.add(action);
  guard_.can_shrink(gear + 1 < runtime.gears());
  guard_.changed_on_purpose();
  next_ = Clock::now();  // the next reading is of what it takes now
}

Guarded::Then Guarded::pause() {
  GuardAction action = begin(Kind::pause, last_.reason());
  parts_.tell.phase("pause");
  const auto before = Clock::now();
  parts_.runtime.rest();
  parts_.corpus.drop_cached_pages();
  platform::release_free_memory();
  action.planned = -int64_t(parts_.runtime.given_back());
  action.rss_after = memory_.resident();
  log_.add(action);
  // A stop that a smaller plan may have made needless is given as long as the policy takes to leave that level.
  const double stop_after = guard_.can_shrink() ? 1.5 * guard_.policy().pause_dwell + 0.2 : 0;
  for (bool felt = false;; felt = true) {
    const auto [now, reason] = agree(guard_.level());
    const Level level = now.value_or(Level::ok);
    if (level >= Level::shrink) shrink(reason);  // at rest it costs nothing
    const bool waited = parts_.team.any(seconds(Clock::now() - before) >= stop_after);
    if (level < Level::pause || parts_.team.any(parts_.stop.requested())) break;
    const bool in_vain = parts_.team.any(felt && last_.used >= last_.lines.stop && !guard_.can_shrink());
    if (level == Level::stop && (in_vain || waited)) {
      parts_.tell.phase("train");
      log_.add(begin(Kind::stop, reason));
      return Then::stop;
    }
    // A signal may be delivered to another thread, which does not wake this one.
    platform::sleep_seconds(std::clamp(seconds(next_ - Clock::now()), 0.0, longest_deafness));
    if (Clock::now() >= next_) look();
  }
  due_.reset(), eased_ = false;
  parts_.tell.phase("train");
  action = begin(Kind::resume, last_.reason());
  action.seconds = seconds(Clock::now() - before);
  action.planned = int64_t(parts_.runtime.given_back());
  parts_.runtime.wake();
  guard_.changed_on_purpose();
  action.rss_after = memory_.resident();
  log_.add(action);
  return Then::go_on;
}

GuardReport Guarded::report() const {
  return {true, guard_.level(), last_.limit, log_.actions(), log_.unlisted()};
}

void Guarded::stopped(bool saved) {
  parts_.tell.event("guard", saved ? "the final checkpoint is saved" : "the final checkpoint FAILED");
}

}  // namespace plimsoll
