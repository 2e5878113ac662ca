#include "watch/tree_actor.hpp"

#include <algorithm>
#include <cerrno>

#include "base/units.hpp"
#include "platform/child.hpp"

namespace plimsoll::watch {
namespace {

constexpr double between_passes = 0.05;  // seconds, while a pause lasts
constexpr double settling_time = 1;      // at most, for the kernel to take back what the ended one held
constexpr double before_parents = 0.5;   // that the one asked to end has before its parents go on, too
constexpr double reading_time = 0.02;    // once it has, for the next reading of the tree to show it
constexpr double between_choices = 10;   // when no process could be stopped

// A name that cannot move the cursor of whoever reads it, without allocating.
std::array<char, 24> printable(std::string_view name) {
  std::array<char, 24> out{};
  for (size_t i = 0; i < std::min(name.size(), out.size() - 1); ++i)
    out[i] = name[i] >= ' ' && name[i] <= '~' ? name[i] : '?';
  return out;
}

}  // namespace

TreeActor::TreeActor(const proc::Files& files, observe::Sampler& sampler, ActionLog& log,
                     const Options& options)
    : files_(files), sampler_(sampler), log_(log), options_(options), pause_(files, sampler.tree()) {
  denied_.reserve(1024), spared_.reserve(4096);
}

void TreeActor::see(const observe::Snapshot& snapshot) {
  if (pause_.active()) stood_ += snapshot.time - seen_;
  seen_ = snapshot.time;
  growers_.see(snapshot, stood_);
}

void TreeActor::freeze() {
  if (may_freeze_ && !options_.dry_run) pause_.stop_all();
}

void TreeActor::pause(double now, const guard::Decision& decision) {
  if (!may_freeze_) return;
  paused_ = true;
  next_pass_ = now + between_passes;
  if (options_.dry_run) {
    log_.add(now, decision, "would SIGSTOP", 0);
    return;
  }
  const TreePause::Result result = pause_.stop_all();  // first the deed, then the word
  TreeAction* action = log_.add(now, decision, "SIGSTOP", 0);
  std::array<char, 160> text;
  write_to(text, "{} process{} stopped in {} passes", result.stopped, result.stopped == 1 ? "" : "es",
           result.passes);
  if (result.denied)
    write_to(text,
             "{} stopped; {} belong to other users and cannot be signalled: run as their user or as root",
             result.stopped, result.denied);
  else if (!result.complete)
    write_to(text, "{} stopped, but new ones appear faster than they can be stopped", result.stopped);
  log_.effect(action, now, text.data());
}

void TreeActor::resume(double now, const guard::Decision& decision) {
  if (!paused_) return;
  paused_ = false;
  if (phase_ == Phase::none) pause_.continue_all();
  log_.add(now, decision, options_.dry_run ? "would SIGCONT" : "SIGCONT", 0);
}

void TreeActor::release() {
  may_freeze_ = paused_ = false;
  pause_.continue_all();
}

void TreeActor::conclude(double now) {
  if (phase_ == Phase::none || !victim_ended()) return;
  std::array<char, 160> text;
  write_to(text, "process {} ended after {}, and the tree with it", victim_.pid,
           format_duration(now - asked_));
  log_.effect(action_, now, text.data());
  phase_ = Phase::none;
}

void TreeActor::stop(double now, const guard::Decision& decision) {
  if (phase_ != Phase::none || now < next_choice_) return;
  freeze();
  paused_ = false;
  choose(now, decision);
}

// Everybody stands still; the one that grows is asked to end and, with its children, let go on so that it can.
void TreeActor::choose(double now, const guard::Decision& decision) {
  const observe::Snapshot& snapshot = sampler_.sample(now);
  see(snapshot);
  spared_ = denied_;
  for (const observe::Process& process : snapshot.processes)
    if (spared_.size() < spared_.capacity() && !options_.matters(process.id.pid))
      spared_.push_back(process.id);
  const observe::Process* process = growers_.grower(snapshot, decision.limit / 100, spared_);
  phase_ = Phase::none;
  next_choice_ = now + between_choices;
  if (!process) {
    log_.say(now, "stop", "there is no process left that can be stopped");
    pause_.continue_all();
    return;
  }
  victim_ = process->id;
  victim_name_ = printable(process->name);
  if (options_.dry_run) {
    log_.add(now, decision, "would SIGTERM", victim_.pid, victim_name_.data());
    return;
  }
  const int error = platform::send_signal(files_, victim_, SIGTERM);
  action_ = log_.add(now, decision, "SIGTERM", victim_.pid, victim_name_.data());
  if (error) {
    log_.effect(action_, now,
                error == EPERM ? "not done: it belongs to another user; run as that user or as root"
                               : "not done: it has already ended");
    if (error == EPERM && denied_.size() < denied_.capacity()) denied_.push_back(victim_);
    pause_.continue_all();
    next_choice_ = now + (error == EPERM ? 1 : 0);
    return;
  }
  stopped_any_ = true;
  killed_ = parents_go_on_ = false;
  used_then_ = decision.used, limit_then_ = decision.limit;
  asked_ = now;
  phase_ = Phase::grace;
  pause_.continue_children(victim_);
}

bool TreeActor::victim_ended() const {
  auto stat = files_.stat(victim_.pid);
  return !stat || stat->id != victim_ || stat->state == 'Z' || stat->state == 'X' || stat->exiting;
}

// A zombie holds no memory any more; one that is exiting may.
bool TreeActor::victim_gone() const {
  auto stat = files_.stat(victim_.pid);
  return !stat || stat->id != victim_ || stat->state == 'Z' || stat->state == 'X';
}

void TreeActor::watch_grace(double now, const guard::Decision& decision) {
  if (victim_ended()) {
    freeze();  // its parents and children went on with it
    phase_ = Phase::settling;
    settled_ = now;
    return;
  }
  // Grace is for saving, not for growing on: the stop line is the last one, or half of what lies above it
  // where use was there already.
  const uint64_t above = decision.limit - std::min(decision.limit, decision.lines.stop);
  const uint64_t last_line = decision.lines.stop + (used_then_ < decision.lines.stop ? 0 : above / 2);
  const bool late = now - asked_ >= options_.grace;
  const bool grows = decision.used >= last_line && decision.used > used_then_;
  // One that needs its parents to end gets them, but not at once: a parent may be what starts those that grow.
  if (!parents_go_on_ && now - asked_ >= before_parents) {
    parents_go_on_ = true;
    pause_.continue_parents(victim_);
  }
  if (killed_ || (!late && !grows)) return;
  killed_ = true;
  platform::send_signal(files_, victim_, SIGKILL);
  guard::Decision why = decision;
  if (late)
    write_to(why.text, "it has not ended within {} of SIGTERM", format_duration(options_.grace));
  else
    write_to(why.text, "it continued to grow after SIGTERM: {} of {} used", format_bytes(decision.used),
             format_bytes(decision.limit));
  why.level = guard::Level::stop;
  action_ = log_.add(now, why, "SIGKILL", victim_.pid, victim_name_.data());
}

void TreeActor::settle(double now, const guard::Decision& decision) {
  const bool relieved = decision.used < decision.lines.pause;
  if (!relieved && now - settled_ < (victim_gone() ? reading_time : settling_time)) return;
  std::array<char, 160> text;
  if (decision.limit == limit_then_)
    write_to(text, "process {} ended after {}, {} freed", victim_.pid, format_duration(settled_ - asked_),
             format_bytes(used_then_ - std::min(used_then_, decision.used)));
  else  // another limit is the nearest now
    write_to(text, "process {} ended after {}", victim_.pid, format_duration(settled_ - asked_));
  log_.effect(action_, now, text.data());
  phase_ = Phase::none;
  next_choice_ = now;
  if (decision.used >= decision.lines.stop)
    choose(now, decision);  // the others still stand
  else if (!paused_)
    pause_.continue_all();
}

void TreeActor::advance(double now, const guard::Decision& decision) {
  if (phase_ == Phase::grace)
    watch_grace(now, decision);
  else if (phase_ == Phase::settling)
    settle(now, decision);
  else if (decision.level == guard::Level::stop && decision.soon >= decision.lines.stop)
    stop(now, decision);
  else if (paused_ && !options_.dry_run && now >= next_pass_) {
    pause_.stop_all();
    next_pass_ = now + between_passes;
  }
}

}  // namespace plimsoll::watch
