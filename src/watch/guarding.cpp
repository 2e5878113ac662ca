#include "watch/guarding.hpp"

#include <algorithm>
#include <cstdio>

#include "base/error.hpp"
#include "live/companion.hpp"
#include "platform/allocations.hpp"
#include "platform/descriptors.hpp"
#include "platform/hook.hpp"
#include "platform/memory.hpp"
#include "platform/signals.hpp"
#include "platform/vigilance.hpp"
#include "report/sites_text.hpp"
#include "watch/clock.hpp"
#include "watch/guard_summary.hpp"
#include "watch/limit_reader.hpp"
#include "watch/listeners.hpp"
#include "watch/recorder.hpp"
#include "watch/shrink_request.hpp"
#include "watch/step_rate.hpp"
#include "watch/target.hpp"
#include "watch/tree_actor.hpp"

namespace plimsoll::watch {
namespace {

using guard::Decision;
using guard::Level;

// Seconds between looks for new processes and for processes that have moved to another control group: each is a
// handful of system calls, and at 2 GB per second 100 MB are filled in between.
constexpr double between_looks = 0.05;

// Readers are shown the record: where none is kept, one in a temporary folder.
GuardOptions with_record(GuardOptions options) {
  if (options.out.empty() && options.serve.wanted) options.out = live::temporary_record().string();
  return options;
}

class Guarding {
 public:
  explicit Guarding(const GuardOptions& options);
  int run();

 private:
  void launch();
  void sample_tree(double time);
  void look_around(double time);
  void judge(double time);
  void record_tree(double time);
  void act(double time, const Decision& decision);
  void tell(double time, const Decision& decision);
  void name_line(double time, const Decision& decision);
  void listen();
  void take_signals();
  void wait(double seconds);
  int finish();

  GuardOptions options_;
  live::Companion server_;  // ends last: readers see the end of the record
  platform::SignalQueue signals_;
  Target target_;
  ActionLog log_;
  Clock clock_;
  std::unique_ptr<Listeners> listeners_;
  std::unique_ptr<Profiling> profiling_;
  std::unique_ptr<platform::Hook> hook_;
  std::unique_ptr<observe::Sampler> sampler_;
  std::unique_ptr<TreeActor> actor_;
  std::unique_ptr<LimitReader> limits_;
  OwnMemory own_memory_;
  guard::Guard guard_;
  ShrinkRequest shrink_;
  StepRate steps_;

  const observe::Snapshot* tree_ = nullptr;
  GuardSummary summary_;
  uint64_t allocations_before_ = 0;
  double next_tree_ = 0, next_look_ = 0, next_reading_ = 0, next_row_ = 0, next_sites_ = 0;
  double calm_until_ = 0;  // when the level was last left that asks for nothing
  double sampled_ = 0;     // seconds the last sample of the tree took
  int newest_pid_ = 0;
  bool ended_ = false, interrupted_ = false, leave_ = false, child_changed_ = false;
  bool named_line_ = false;  // one was said to have grown
};

Guarding::Guarding(const GuardOptions& options)
    : options_(with_record(options)),
      server_(options.serve),
      signals_({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD}),
      target_({.command = options.command, .pid = options.pid, .socket = {}, .roots = options.roots}),
      log_(options_.out),
      guard_(options.policy),
      shrink_(log_, options.policy.shrink_patience) {
  ignore_broken_pipes();  // whoever reads what is said may go away: the guard stays
  if (server_.serving()) {
    server_.follow(options_.out, options.out.empty());
    log_.say(0, "note", fmt::format("live at {}", server_.url()));
  }
  if (!options_.hook.empty()) hook_ = std::make_unique<platform::Hook>(options_.hook);
  if (!options_.command.empty())
    launch();
  else if (!platform::may_signal(options_.pid))
    log_.say(0, "note",
             fmt::format("process {} belongs to another user: it can be warned of, not paused or stopped; "
                         "run as that user or as root",
                         options_.pid));
  const int root = target_.root();
  sampler_ = std::make_unique<observe::Sampler>(
      target_.files(), observe::ProcessTree(target_.files(), root, target_.child() != nullptr),
      observe::SamplerOptions{.system = false, .shared = true, .arguments = false});
  actor_ = std::make_unique<TreeActor>(
      target_.files(), *sampler_, log_,
      TreeActor::Options{.grace = options_.grace, .dry_run = options_.dry_run, .matters = [this](int pid) {
                           return limits_->applies(pid);
                         }});
  limits_ = std::make_unique<LimitReader>(target_.files(), root, options_.policy.max_memory);
  if (RunRecord* record = log_.record()) {
    record->configuration("command",
                          target_.child() ? target_.description() : "--pid " + target_.description());
    record->configuration("limit_bytes", std::to_string(limits_->own_line()));
  }
  if (!platform::become_vigilant().locked)
    log_.say(0, "note",
             "memory could not be locked (run as root or raise `ulimit -l`): under pressure the guard "
             "may react late");
}

void Guarding::launch() {
  if (options_.profile.on)
    profiling_ = std::make_unique<Profiling>(target_.files(), options_.profile, options_.out);
  target_.launch(
      {.pipes = false, .environment = profiling_ ? profiling_->environment() : Target::Environment{}});
  listeners_ = std::make_unique<Listeners>(*target_.socket());
}

void Guarding::sample_tree(double time) {
  tree_ = &sampler_->sample(time);
  // From the warning on, or nearly.
  const double line = limits_ ? double(limits_->own_line()) : 0;
  sampler_->near(line > 0 && double(tree_->bytes + sampler_->uncertain()) > 0.6 * line);
  sampled_ = clock_.now() - time;
  actor_->see(*tree_);
  summary_.peak_tree = std::max(summary_.peak_tree, tree_->bytes);
  ended_ = target_.ended(*tree_);
  if (log_.record() && time >= next_row_) record_tree(time);
  if (profiling_ && time >= next_sites_) {
    profiling_->look(time);
    next_sites_ = time + std::max(1.0, 50 * (clock_.now() - time));  // at most two percent of the time
  }
}

// A process that has just been started, or has moved to another group, may have a limit of its own.
void Guarding::look_around(double time) {
  next_look_ = time + between_looks;
  const int newest = target_.files().newest_pid();
  if (newest != newest_pid_ || newest == 0) sample_tree(time);
  newest_pid_ = newest;
  if (limits_->look(*tree_)) next_reading_ = time;
}

void Guarding::record_tree(double time) {
  next_row_ = time + 1;
  log_.record()->memory({.time = time,
                         .step = steps_.last().value_or(unknown_count),
                         .rss = int64_t(tree_->rss),
                         .pss = int64_t(tree_->bytes - tree_->swap),
                         .swap = int64_t(tree_->swap),
                         .processes = int64_t(tree_->processes.size()),
                         .limit = int64_t(summary_.limit),
                         .available = int64_t(limits_->state().machine_available),
                         .pressure = limits_->state().pressure,
                         .pss_interpolated = !tree_->pss_measured});
}

void Guarding::tell(double time, const Decision& decision) {
  const size_t reached = listeners_ ? listeners_->tell(decision) : 0;
  if (decision.level == Level::shrink) shrink_.ask(time, decision, reached, options_.dry_run);
  if (!hook_ || options_.dry_run) return;
  const int pid = tree_->processes.empty() ? 0 : tree_->processes.front().id.pid;
  const int started =
      hook_->run(level_name(decision.level), decision.reason(), decision.used, decision.limit, pid);
  if (started > 0)
    sampler_->tree().leave_out_session(started);
  else
    log_.say(time, "note", "the hook could not be started");
}

// After the tree was acted on: what is stopped or warned of waits for nothing.
void Guarding::name_line(double time, const Decision& decision) {
  if (decision.before == Level::ok) calm_until_ = time;
  if (!profiling_ || !decision.act || decision.level == Level::shrink) return;
  // A warning that is about to become more is no time to search.
  if (decision.level == Level::warn && decision.seconds_to_line && *decision.seconds_to_line < 2) return;
  profiling_->look(time);
  const std::string line = report::grown_line(profiling_->quick_report({}, time), calm_until_);
  if (!line.empty()) log_.line(time, line), named_line_ = true;
}

void Guarding::act(double time, const Decision& decision) {
  if (decision.level > summary_.highest || summary_.highest == Level::ok) summary_.limit = decision.limit;
  summary_.highest = std::max(summary_.highest, decision.level);
  if (decision.changed && decision.before == Level::pause && decision.level < Level::pause)
    actor_->resume(time, decision);
  if (decision.act) {
    if (decision.level == Level::pause) actor_->pause(time, decision);
    if (decision.level == Level::stop) actor_->stop(time, decision);
    if (decision.level == Level::warn) log_.add(time, decision, "warning", 0);
  } else if (decision.changed) {
    log_.say(time, level_name(decision.level), decision.reason());
  }
  if (decision.act || decision.changed) tell(time, decision);
  name_line(time, decision);
  shrink_.advance(time, decision);
  const bool stood = actor_->busy();
  actor_->advance(time, decision);
  // What goes on after standing still grows from now on: the time before says nothing about how fast.
  if (stood && !actor_->busy()) guard_.changed_on_purpose();
}

void Guarding::listen() {
  while (auto heard = listeners_->next()) {
    const double time = clock_.now();
    if (heard->step && *heard->step >= 0) {
      steps_.see(*heard->step, time);
      if (RunRecord* record = log_.record()) record->step({.step = *heard->step, .time = time});
    }
    if (heard->given_back) shrink_.answered(time, *heard->given_back);
  }
  guard_.can_shrink(listeners_->can_shrink());
}

void Guarding::take_signals() {
  while (auto arrived = signals_.next()) {
    if (arrived->signal == SIGCHLD) {
      target_.reap();
      child_changed_ = true;
      continue;
    }
    if (arrived->signal == SIGUSR1 || arrived->signal == SIGUSR2) {
      if (target_.child()) target_.child()->send(arrived->signal);
      continue;
    }
    // No process may stay stopped when we end; a stopped process could not even receive the signal.
    actor_->release();
    guard_.no_more_pauses();
    target_.pass_on(*arrived);
    leave_ = leave_ || interrupted_ || !target_.child();
    interrupted_ = true;
  }
}

void Guarding::wait(double seconds) {
  platform::Awaited waits[] = {{signals_.descriptor()},
                               {target_.socket() ? target_.socket()->descriptor() : -1}};
  if (!platform::wait_for(waits, std::max(0.0, seconds))) return;
  next_reading_ = 0;
  if (waits[1].ready) listen();
  if (waits[0].ready) take_signals();
}

int Guarding::finish() {
  const uint64_t allocated = allocations() - allocations_before_;
  actor_->conclude(clock_.now());
  actor_->release();
  summary_.stopped = actor_->stopped_any();
  // Where no line was reached, the one that was asked for is of more interest than the nearest.
  if (summary_.highest == Level::ok && limits_->own_line()) summary_.limit = limits_->own_line();
  summary_.seconds = clock_.now();
  summary_.own_peak = own_memory_.peak(), summary_.own_resident = own_memory_.resident();
  if (allocations_counted()) summary_.allocations = allocated;
  std::optional<diagnose::SiteReport> sites;
  if (profiling_) {
    profiling_->look(clock_.now());
    sites = profiling_->report({}, clock_.now());
  }
  const std::string text = guard_json(summary_, log_, sites ? &*sites : nullptr);
  if (RunRecord* record = log_.record()) {
    record->event("guard-summary", text, clock_.now());
    if (sites) write_sites(*record, *sites, clock_.now(), [](int) { return unknown_count; });
    record->commit();
  }
  std::array<char, 240> summary;
  write_to(summary, "highest level {}, {} action{}; the tree used {} at most{}", level_name(summary_.highest),
           log_.actions().size(), log_.actions().size() == 1 ? "" : "s", format_bytes(summary_.peak_tree),
           summary_.limit ? fmt::format(" of {}", format_bytes(summary_.limit)) : "");
  log_.say(clock_.now(), "summary", summary.data());
  if (sites) platform::write_all(platform::standard_error, report::lines_text(*sites, named_line_));
  if (options_.json) {
    std::fputs((text + "\n").c_str(), stdout);
    std::fflush(stdout);
  }
  if (summary_.stopped) return int(Exit::guarded);
  if (!target_.child()) return int(Exit::done);
  return target_.exit_code().value_or(int(Exit::interrupted));
}

void Guarding::judge(double time) {
  guard::Reading reading = limits_->read(time, *tree_);
  reading.steps_per_second = steps_.rate();
  reading.late = 2 * (clock_.now() - time);  // to stop a tree takes about as long as to look at it
  const Decision decision = guard_.observe(reading);
  act(time, decision);
  double poll = actor_->busy() ? std::min(decision.poll, 0.02) : decision.poll;
  if (limits_->own_line() && sampler_->writes_files()) poll = std::min(poll, 0.002);
  const double between =
      limits_->own_line() ? std::max({poll, 0.002, 2 * sampled_}) : std::clamp(10 * poll, 0.05, 1.0);
  next_tree_ = std::min(std::max(next_tree_, time), time + between);
  if (next_tree_ <= time) next_tree_ = time + between;
  next_reading_ = time + poll;
  if (++summary_.readings == 1) allocations_before_ = allocations();
}

int Guarding::run() {
  while (!leave_) {
    const double time = clock_.now();
    // The tree is looked at less often than what is left, which costs a tenth; where its own use is what is
    // judged, as often.
    if (time >= next_tree_ || child_changed_ || !tree_) {
      sample_tree(time);
      child_changed_ = false;
    }
    if (time >= next_look_) look_around(time);
    if (ended_ || (interrupted_ && target_.exit_code())) break;
    if (time >= next_reading_) judge(time);
    wait(std::min(next_reading_, next_look_) - clock_.now());
  }
  return finish();
}

}  // namespace

int guard_tree(const GuardOptions& options) { return Guarding(options).run(); }

}  // namespace plimsoll::watch
