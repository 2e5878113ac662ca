#include "watch/guarding.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/mask.hpp"
#include "live/companion.hpp"
#include "platform/allocations.hpp"
#include "platform/child.hpp"
#include "platform/headroom.hpp"
#include "platform/hook.hpp"
#include "platform/memory.hpp"
#include "platform/vigilance.hpp"
#include "watch/listeners.hpp"
#include "watch/tree_actor.hpp"

namespace plimsoll::watch {
namespace {

using guard::Decision;
using guard::Level;

constexpr int own_line = -1;  // the source of a reading that is about --limit

double clock_seconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

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
  double now() const { return clock_seconds() - begin_; }
  int attach();
  int launch();
  uint64_t line_of_ours(int root) const;
  void sample_tree(double time);
  guard::Reading reading(double time);
  void act(double time, const Decision& decision);
  void tell(double time, const Decision& decision);
  void listen();
  void take_signals();
  void reap();
  void wait(double seconds);
  int finish();

  GuardOptions options_;
  live::Companion server_;  // ends last: readers see the end of the record
  proc::Files files_;
  platform::SignalQueue signals_;
  GuardLog log_;
  double begin_ = clock_seconds();
  std::unique_ptr<observe::StepSocket> socket_;
  std::unique_ptr<Listeners> listeners_;
  std::unique_ptr<platform::Child> child_;
  std::unique_ptr<platform::Hook> hook_;
  std::unique_ptr<observe::Sampler> sampler_;
  std::unique_ptr<TreeActor> actor_;
  std::unique_ptr<Headroom> headroom_;
  OwnMemory own_memory_;
  guard::Guard guard_;

  const observe::Snapshot* tree_ = nullptr;
  Headroom::State state_;
  uint64_t line_ = 0, peak_ = 0, limit_ = 0, readings_ = 0, allocations_before_ = 0;
  double next_tree_ = 0, next_row_ = 0;
  Level highest_ = Level::ok;
  bool ended_ = false, interrupted_ = false, leave_ = false, child_changed_ = false;
  GuardAction* asked_ = nullptr;  // to shrink, the answer being open
  uint64_t used_when_asked_ = 0;
  double asked_at_ = 0;
  std::optional<int64_t> first_step_, last_step_;
  double first_step_time_ = 0, last_step_time_ = 0;
};

Guarding::Guarding(const GuardOptions& options)
    : options_(with_record(options)),
      server_(options.serve),
      files_(options.roots),
      signals_({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD}),
      log_(options_.out),
      guard_(options.policy) {
  if (server_.serving()) {
    server_.follow(options_.out, options.out.empty());
    log_.say(0, "note", fmt::format("live at {}", server_.url()));
  }
  if (!options_.hook.empty()) hook_ = std::make_unique<platform::Hook>(options_.hook);
  const int root = options_.command.empty() ? attach() : launch();
  sampler_ = std::make_unique<observe::Sampler>(files_, observe::ProcessTree(files_, root, child_ != nullptr),
                                                observe::SamplerOptions{.system = false, .arguments = false});
  actor_ = std::make_unique<TreeActor>(files_, *sampler_, log_,
                                       TreeActor::Options{options_.grace, options_.dry_run});
  headroom_ = std::make_unique<Headroom>(files_, root);
  line_ = line_of_ours(root);
  if (RunRecord* record = log_.record()) {
    record->configuration("command",
                          child_ ? display_command(options_.command) : fmt::format("--pid {}", root));
    record->configuration("limit_bytes", std::to_string(line_));
  }
  const platform::Vigilance got = platform::become_vigilant();
  if (!got.locked)
    log_.say(0, "note",
             "memory is not locked (it may be with root or a higher `ulimit -l`): under pressure this guard "
             "can be late");
}

int Guarding::attach() {
  auto stat = files_.stat(options_.pid);
  if (!stat) fail_input("there is no process {}; see `ps` for those there are", options_.pid);
  if (stat->state == 'Z')
    fail_input("process {} has ended already (a zombie its parent has not collected)", options_.pid);
  if (kill(options_.pid, 0) != 0 && errno == EPERM)
    log_.say(
        0, "note",
        fmt::format(
            "process {} belongs to another user: it can be warned of, not paused or stopped; run as that "
            "user or as root",
            options_.pid));
  return options_.pid;
}

int Guarding::launch() {
  platform::LaunchOptions launch{.command = options_.command, .environment = {}, .pipes = false};
  socket_ = std::make_unique<observe::StepSocket>();
  listeners_ = std::make_unique<Listeners>(*socket_);
  launch.environment.emplace_back("PLIMSOLL_SOCKET", socket_->path());
  child_ = std::make_unique<platform::Child>(launch);
  return child_->pid();
}

// --limit in bytes; a share is of the tightest limit there is.
uint64_t Guarding::line_of_ours(int root) const {
  if (!options_.policy.max_memory) return 0;
  uint64_t applies = machine_memory(options_.roots.proc).total;
  if (auto limit = cgroup::limit_of(files_, root)) applies = std::min(applies, limit->bytes);
  return std::max<uint64_t>(1, options_.policy.max_memory->of(applies));
}

void Guarding::sample_tree(double time) {
  tree_ = &sampler_->sample(time);
  actor_->see(*tree_);
  peak_ = std::max(peak_, tree_->bytes);
  const bool living = std::any_of(tree_->processes.begin(), tree_->processes.end(),
                                  [](const observe::Process& process) { return !process.zombie(); });
  ended_ = !living && (!child_ || child_->exit_code());
  RunRecord* record = log_.record();
  if (!record || time < next_row_) return;
  next_row_ = time + 1;
  record->memory({.time = time,
                  .step = last_step_.value_or(unknown_count),
                  .rss = int64_t(tree_->rss),
                  .pss = int64_t(tree_->bytes - tree_->swap),
                  .swap = int64_t(tree_->swap),
                  .processes = int64_t(tree_->processes.size()),
                  .limit = int64_t(limit_),
                  .available = int64_t(state_.machine_available),
                  .pressure = state_.pressure,
                  .pss_interpolated = !tree_->pss_measured});
}

// The limit nearest to being reached, our own line included.
guard::Reading Guarding::reading(double time) {
  state_ = headroom_->read();
  guard::Reading reading{.time = time,
                         .limit = state_.limit,
                         .used = state_.used,
                         .room = state_.room,
                         .source = state_.source,
                         .pressure = state_.pressure,
                         .own = tree_->bytes};
  if (line_) reading.room = std::min(state_.room, line_ - std::min(line_, tree_->bytes));
  if (line_ && double(tree_->bytes) * double(state_.limit) >= double(state_.used) * double(line_))
    reading.limit = line_, reading.used = tree_->bytes, reading.source = own_line;
  if (last_step_ && last_step_time_ - first_step_time_ > 1)
    reading.steps_per_second = double(*last_step_ - *first_step_) / (last_step_time_ - first_step_time_);
  return reading;
}

void Guarding::tell(double time, const Decision& decision) {
  size_t reached = listeners_ ? listeners_->tell(decision) : 0;
  if (decision.level == Level::shrink) {
    asked_ = log_.add(time, decision, options_.dry_run ? "would ask to shrink" : "asked to shrink", 0);
    asked_at_ = time, used_when_asked_ = decision.used;
    if (reached == 0) log_.effect(asked_, time, "nobody listens any more"), asked_ = nullptr;
  }
  if (!hook_ || options_.dry_run) return;
  const int pid = tree_->processes.empty() ? 0 : tree_->processes.front().id.pid;
  const int started =
      hook_->run(level_name(decision.level), decision.reason(), decision.used, decision.limit, pid);
  if (started > 0)
    sampler_->tree().leave_out_session(started);
  else
    log_.say(time, "note", "the hook could not be started");
}

void Guarding::act(double time, const Decision& decision) {
  highest_ = std::max(highest_, decision.level);
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
  if (asked_ && time - asked_at_ >= options_.policy.shrink_patience) {
    std::array<char, 160> text;
    write_to(text, "no answer; use went from {} to {}", format_bytes(used_when_asked_),
             format_bytes(decision.used));
    log_.effect(asked_, time, text.data());
    asked_ = nullptr;
  }
  actor_->advance(time, decision);
}

void Guarding::listen() {
  while (auto heard = listeners_->next()) {
    const double time = now();
    if (heard->step && *heard->step >= 0) {
      if (!first_step_ || *heard->step < *last_step_) first_step_ = heard->step, first_step_time_ = time;
      last_step_ = heard->step, last_step_time_ = time;
      if (RunRecord* record = log_.record()) record->step({.step = *last_step_, .time = time});
    }
    if (heard->given_back && asked_) {
      std::array<char, 160> text;
      write_to(text, "{} given back, after {}", format_bytes(*heard->given_back),
               format_duration(time - asked_at_));
      log_.effect(asked_, time, text.data());
      asked_ = nullptr;
    }
  }
  guard_.can_shrink(listeners_->can_shrink());
}

void Guarding::reap() {
  if (child_)
    child_->reap();
  else
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
}

void Guarding::take_signals() {
  while (auto arrived = signals_.next()) {
    if (arrived->signal == SIGCHLD) {
      reap();
      child_changed_ = true;
      continue;
    }
    if (arrived->signal == SIGUSR1 || arrived->signal == SIGUSR2) {
      if (child_) child_->send(arrived->signal);
      continue;
    }
    // Whoever ends us must find nobody stopped; what is stopped could not even hear the signal.
    actor_->release();
    guard_.no_more_pauses();
    if (child_ && !arrived->from_terminal) child_->send(arrived->signal);
    leave_ = leave_ || interrupted_ || !child_;
    interrupted_ = true;
  }
}

void Guarding::wait(double seconds) {
  timespec time{time_t(seconds), long((seconds - double(time_t(seconds))) * 1e9)};
  pollfd waits[2] = {{signals_.descriptor(), POLLIN, 0}, {socket_ ? socket_->descriptor() : -1, POLLIN, 0}};
  int ready = ppoll(waits, 2, &time, nullptr);
  if (ready < 0 && errno != EINTR) fail("waiting for the next reading failed ({})", errno);
  if (ready <= 0) return;
  if (waits[1].revents) listen();
  if (waits[0].revents) take_signals();
}

int Guarding::finish() {
  const uint64_t allocated = allocations() - allocations_before_;
  actor_->conclude(now());
  actor_->release();
  nlohmann::ordered_json json{{"level", level_name(highest_)}, {"actions", nlohmann::ordered_json::array()}};
  for (const GuardAction& action : log_.actions())
    json["actions"].push_back({{"seconds", action.time},
                               {"level", level_name(action.level)},
                               {"action", action.what.data()},
                               {"pid", action.pid ? nlohmann::ordered_json(action.pid) : nullptr},
                               {"used_bytes", action.used},
                               {"reason", action.reason.data()},
                               {"effect", action.effect.data()}});
  json["peak_tree_bytes"] = peak_, json["limit_bytes"] = limit_, json["stopped"] = actor_->stopped_any();
  json["actions_left_out"] = log_.left_out(), json["readings"] = readings_, json["seconds"] = now();
  json["guard"] = {{"peak_bytes", own_memory_.peak()},
                   {"resident_bytes", own_memory_.resident()},
                   {"allocations", allocations_counted() ? nlohmann::ordered_json(allocated) : nullptr}};
  const std::string text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (RunRecord* record = log_.record()) {
    record->event("guard-summary", text, now());
    record->commit();
  }
  if (options_.json) {
    std::fputs((text + "\n").c_str(), stdout);
    std::fflush(stdout);
  }
  if (actor_->stopped_any()) return int(Exit::guarded);
  if (!child_) return int(Exit::done);
  return child_->exit_code().value_or(int(Exit::interrupted));
}

int Guarding::run() {
  double poll = 0;
  while (!leave_) {
    double time = now();
    // The tree is looked at less often than what is left, which costs a tenth; where its own use is what is
    // judged, as often.
    if (time >= next_tree_ || child_changed_ || !tree_) {
      sample_tree(time);
      child_changed_ = false;
    }
    if (ended_ || (interrupted_ && child_ && child_->exit_code())) break;
    const Decision decision = guard_.observe(reading(time));
    if (decision.level > highest_ || highest_ == Level::ok) limit_ = decision.limit;
    act(time, decision);
    poll = actor_->busy() ? std::min(decision.poll, 0.02) : decision.poll;
    const double between = line_ ? std::max(poll, 0.01) : std::clamp(10 * poll, 0.05, 1.0);
    next_tree_ = std::min(std::max(next_tree_, time), time + between);
    if (next_tree_ <= time) next_tree_ = time + between;
    if (++readings_ == 1) allocations_before_ = allocations();
    wait(poll);
  }
  return finish();
}

}  // namespace

int guard_tree(const GuardOptions& options) { return Guarding(options).run(); }

}  // namespace plimsoll::watch
