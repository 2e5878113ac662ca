#include "watch/watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "base/mask.hpp"
#include "diagnose/join.hpp"
#include "live/companion.hpp"
#include "observe/find_training.hpp"
#include "observe/sampler.hpp"
#include "platform/continue_on_death.hpp"
#include "platform/signals.hpp"
#include "ranks/launch.hpp"
#include "report/judgement_text.hpp"
#include "report/sites_text.hpp"
#include "watch/clock.hpp"
#include "watch/console.hpp"
#include "watch/program_output.hpp"
#include "watch/recorder.hpp"
#include "watch/target.hpp"
#include "watch/verdict_reply.hpp"

namespace plimsoll::watch {
namespace {

constexpr size_t most_notes = 20;
// Of the interval: a step told over the socket after this much of it is a good moment for the next sample, as what
// belongs to the step is gone.
constexpr double early_sample = 0.7;

// Standard output belongs to a launched program, or to the JSON.
int said_to(const WatchOptions& options) {
  return options.json || !options.command.empty() ? platform::standard_error : platform::standard_output;
}

// The process that looks most like training.
int found_training(const WatchOptions& options, const Console& console) {
  const proc::Files files(options.roots);
  const auto candidates = observe::find_training(files);
  if (candidates.empty())
    fail_input("no running process looks like training{}; give one with --pid",
               files.hides_processes() ? " (and /proc hides processes of other users)" : "");
  console.say(observe::describe_candidates(candidates));
  return candidates.front().pid;
}

class Watch {
 public:
  explicit Watch(const WatchOptions& options);
  int run();

 private:
  enum class Stop { none, ended, duration, interrupted };

  void launch();
  void sample();
  void wait_until(double time);
  void take_signal(const platform::SignalQueue::Arrived& arrived);
  void take(const observe::Recognised& event);
  void say_leak(double time);
  void look_at_lines(double time);
  void notice_gap(double time);
  void notice_full_disk();
  void notice_left_behind(const observe::Snapshot& snapshot);
  void note(std::string text);
  bool tree_ended(const observe::Snapshot& snapshot) const;
  uint64_t limit_bytes() const;
  void end_program();
  void end_by_force();
  verdict::Options judging() const;
  diagnose::Judgement judge(double until);
  std::string reply();
  int finish();

  WatchOptions options_;
  live::Companion server_;  // ends last: readers see the end of the record
  Console console_;
  platform::SignalQueue signals_;
  std::unique_ptr<observe::StepPattern> pattern_;
  Target target_;
  std::unique_ptr<Recorder> recorder_;
  Clock clock_;
  std::unique_ptr<Profiling> profiling_;
  std::unique_ptr<ProgramOutput> output_;
  std::unique_ptr<observe::Sampler> sampler_;

  StepTrack steps_;
  TreeJudge judge_;
  observe::System system_;  // as of the last sample with memory
  uint64_t held_ = 0;       // by the tree, likewise
  std::vector<std::string> notes_;
  size_t denied_ = 0;
  double last_sample_ = -1;
  bool stepped_ = false;  // since the last sample, told over the socket
  Stop stop_ = Stop::none;
  int interrupts_ = 0;
  bool said_disk_ = false, said_left_behind_ = false, leak_is_due_ = false, said_leak_ = false;
  double next_lines_ = 5;
  std::string suspect_;                      // the line that was last called a leak, though not aloud
  std::optional<verdict::Culprit> culprit_;  // as last searched for, with the line
  std::string line_;
  double next_search_ = 0;
};

Watch::Watch(const WatchOptions& options)
    : options_(options),
      server_(options.serve),
      console_(said_to(options), options.quiet),
      signals_({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD, SIGWINCH}),
      pattern_(options.step_regex.empty() ? nullptr
                                          : std::make_unique<observe::StepPattern>(options.step_regex)),
      target_({.command = options.command,
               .pid = options.find_training ? found_training(options, console_) : options.pid,
               .socket = options.socket,
               .roots = options.roots,
               .advice = ", or use --find-training"}) {
  if (!options_.out.empty() || server_.serving()) {
    const std::string path = options_.out.empty() ? live::temporary_record().string() : options_.out;
    recorder_ = std::make_unique<Recorder>(path);
    server_.follow(path, options_.out.empty());
  }
  if (server_.serving()) console_.say(fmt::format("plimsoll: live at {}\n", server_.url()));
  clock_ = {};
  if (!options_.command.empty()) {
    launch();
  } else if (options_.profile.on) {
    options_.profile.attach = true;
    profiling_ = std::make_unique<Profiling>(target_.files(), options_.profile, options_.out);
  }
  sampler_ = std::make_unique<observe::Sampler>(
      target_.files(), observe::ProcessTree(target_.files(), target_.root(), target_.child() != nullptr),
      observe::SamplerOptions{});
  if (recorder_) {
    recorder_->configuration("interval_seconds", fmt::format("{}", options_.interval));
    recorder_->configuration(target_.child() ? "command" : "pid", target_.description());
    for (const auto& [key, value] : ranks::labels(ranks::read_launch())) recorder_->configuration(key, value);
  }
}

void Watch::launch() {
  ignore_broken_pipes();  // a reader that closes its end is noticed at the write
  if (options_.profile.on)
    profiling_ = std::make_unique<Profiling>(target_.files(), options_.profile, options_.out);
  target_.launch({.pipes = options_.steps,
                  .socket = options_.steps,
                  .environment = profiling_ ? profiling_->environment() : Target::Environment{}});
  output_ = std::make_unique<ProgramOutput>(*target_.child(), pattern_.get(),
                                            [this](const observe::Recognised& event) { take(event); });
  console_.beside([this] { return !output_->ends_with_newline(said_to(options_)); });
}

void Watch::note(std::string text) {
  if (recorder_) recorder_->event("note", text, std::max(0.0, clock_.now()));
  if (notes_.size() < most_notes) notes_.push_back(std::move(text));
}

void Watch::take(const observe::Recognised& event) {
  const double time = clock_.now();
  if (event.epoch && profiling_) {
    profiling_->epoch(int64_t(*event.epoch), time);
    // From now on what lines keep of the second epoch tells.
    if (const auto end = profiling_->epochs().first_end(); end && *end >= time) next_lines_ = time + 0.5;
  }
  const StepTrack::News news = steps_.take(event, time);
  judge_.reached(steps_);
  stepped_ |= news.told;
  if (profiling_ && news.step) profiling_->stepped(time);
  if (!recorder_) return;
  if (news.phase) recorder_->phase(escape(steps_.phases().back().name), time);
  if (news.step) recorder_->step(*steps_.step(), time);
}

void Watch::notice_gap(double time) {
  if (const double slept = clock_.slept(); slept > 0)
    note(fmt::format("the machine was suspended for {} at {}; that time is not counted",
                     format_duration(slept), format_duration(time)));
  else if (last_sample_ >= 0 && time - last_sample_ > std::max(5.0, 5 * options_.interval))
    note(fmt::format("no samples for {} before {} (plimsoll was stopped or the machine was busy)",
                     format_duration(time - last_sample_), format_duration(time)));
}

void Watch::notice_full_disk() {
  if (!recorder_ || recorder_->error().empty() || said_disk_) return;
  said_disk_ = true;
  console_.say(fmt::format("plimsoll: {}; watching goes on\n", recorder_->error()));
  note(fmt::format("the record has gaps: {}", recorder_->error()));
}

void Watch::notice_left_behind(const observe::Snapshot& snapshot) {
  if (console_.quiet() || said_left_behind_ || !target_.exit_code() || tree_ended(snapshot)) return;
  said_left_behind_ = true;
  console_.say(fmt::format(
      "plimsoll: the command has ended with {}; watching continues for the processes it left behind\n",
      *target_.exit_code()));
}

void Watch::sample() {
  const double time = clock_.now();
  notice_gap(time);
  const observe::Snapshot& snapshot = sampler_->sample(time);
  last_sample_ = time;
  if (snapshot.bytes > 0) {
    system_ = snapshot.system, held_ = snapshot.bytes;
    denied_ = std::max(denied_, snapshot.denied);
    if (recorder_) recorder_->snapshot(snapshot, steps_.step(), limit_bytes());
    if (profiling_) profiling_->sample(snapshot);
    if (judge_.add(snapshot, limit_bytes()) && !said_leak_) leak_is_due_ = true;
    if (profiling_ && !said_leak_ && time >= next_lines_) look_at_lines(time);
    // Samples go on while the names of its lines are looked up.
    if (leak_is_due_ && (!profiling_ || profiling_->names_are_ready())) say_leak(time);
  }
  notice_full_disk();
  notice_left_behind(snapshot);
  console_.show(snapshot, judge_, steps_.reached());
  if (tree_ended(snapshot)) stop_ = Stop::ended;
}

// The lines may know of a leak before the tree does. Two looks in a row must agree; their number grows with the logarithm
// of the time, but for the second epoch, which tells.
void Watch::look_at_lines(double time) {
  const verdict::Verdict none, &tree = judge_.current() ? *judge_.current() : none;
  // To open the libraries of PyTorch takes seconds: not when a leak is to be said, but before.
  if (profiling_->epochs().any() && !profiling_->epochs().first_end()) profiling_->names_are_ready();
  // A twentieth of a processor is spent here. Wall time would make looks rare where the machine is busy.
  const double begin = platform::processor_seconds();
  profiling_->reached(steps_.marks());
  const diagnose::SiteReport report = profiling_->quick_answer(tree, time);
  const double soon = time + std::max(0.5, 20 * (platform::processor_seconds() - begin));
  next_lines_ = profiling_->epochs().second(time) ? soon : std::max(soon, 1.1 * time);
  const std::string line = report.answer == diagnose::Answer::leak && report.answer_site
                               ? report.sites[*report.answer_site].place.text()
                               : std::string();
  if (!line.empty() && line == suspect_)
    leak_is_due_ = true;
  else if (!line.empty())
    next_lines_ = time + 0.5;
  suspect_ = line;
}

void Watch::say_leak(double time) {
  leak_is_due_ = false;
  said_leak_ = true;
  verdict::Verdict tree = judge_.current() ? *judge_.current() : verdict::Verdict();
  std::string sentence = tree.sentence;
  if (profiling_) {
    profiling_->reached(steps_.marks());
    const diagnose::SiteReport report = profiling_->careful_report(tree, time);
    const bool was = tree.kind == verdict::Kind::leak;
    diagnose::join(tree, report);
    said_leak_ = tree.kind == verdict::Kind::leak;
    if (!was && !said_leak_) return;
    sentence = report::first_sight(report, tree.sentence);
  }
  if (recorder_) recorder_->event(said_leak_ ? "leak" : "growth", sentence, time);
  if (!console_.quiet()) console_.say("plimsoll: " + sentence + "\n");
}

bool Watch::tree_ended(const observe::Snapshot& snapshot) const {
  return (options_.until_command && target_.exit_code()) || target_.ended(snapshot);
}

void Watch::take_signal(const platform::SignalQueue::Arrived& arrived) {
  switch (arrived.signal) {
    case SIGWINCH:
      if (last_sample_ >= 0) console_.redraw(sampler_->latest(), judge_, steps_.reached());
      return;
    case SIGCHLD:
      target_.reap();
      return;
    default:
      target_.pass_on(arrived);
  }
  if (arrived.signal == SIGUSR1 || arrived.signal == SIGUSR2) return;
  if (arrived.signal == SIGQUIT && target_.child()) return;
  ++interrupts_;
  stop_ = Stop::interrupted;
}

// Waits for the next tick, passing output on and listening meanwhile; returns early when watching is to stop.
void Watch::wait_until(double time) {
  while (stop_ == Stop::none || target_.child()) {
    const double left = time - clock_.now();
    if (left <= 0) return;
    platform::Awaited waits[] = {{signals_.descriptor()},
                                 {target_.socket() ? target_.socket()->descriptor() : -1},
                                 output_ ? output_->output() : platform::Awaited{},
                                 output_ ? output_->error() : platform::Awaited{}};
    if (!platform::wait_for(waits, std::min(left, 60.0))) continue;
    if (waits[1].ready)
      target_.socket()->drain([this](const observe::Recognised& event) { take(event); },
                              [this] { return reply(); });
    if (output_) output_->advance(waits[2].ready, waits[3].ready);
    if (std::exchange(stepped_, false) && stop_ == Stop::none &&
        clock_.now() - last_sample_ >= early_sample * options_.interval)
      return;
    if (!waits[0].ready) continue;
    const Stop before = stop_;
    while (auto arrived = signals_.next()) take_signal(*arrived);
    // The end of the program is worth a look at once, not at the next tick.
    if (stop_ != before || target_.exit_code()) return;
  }
}

// A program started in the background ignores SIGINT: it would never end by it.
bool ignores_interrupt(const proc::Files& files, int pid) {
  std::string text;
  return files.read(pid, "status", text, 8192) == proc::Read::ok &&
         (proc::parse_status(text).ignored_signals >> (SIGINT - 1) & 1);
}

void Watch::end_by_force() {
  for (const observe::Process& process : sampler_->sample(clock_.now()).processes)
    platform::send_signal(target_.files(), process.id, SIGKILL);
}

// After watching: lets a launched program end, helping where it was we who ended the watch.
void Watch::end_program() {
  platform::Child* child = target_.child();
  if (!child) return;
  const double asked = clock_.now();
  if (stop_ == Stop::duration) child->send(SIGTERM);
  bool asked_again = false;
  while (!child->exit_code()) {
    const double waited = clock_.now() - asked;
    if (stop_ == Stop::duration && waited > 5) end_by_force();
    if (stop_ == Stop::interrupted) {
      if (interrupts_ >= 2) return;  // asked twice: the program is left to itself
      if (!asked_again && waited > 2 && ignores_interrupt(target_.files(), child->pid())) {
        child->send(SIGTERM);
        asked_again = true;
      }
    }
    wait_until(clock_.now() + 0.25);
    child->reap();
  }
  if (stop_ != Stop::duration) return;
  for (const observe::Process& process : sampler_->sample(clock_.now()).processes)
    if (!process.zombie()) platform::send_signal(target_.files(), process.id, SIGTERM);
}

uint64_t Watch::limit_bytes() const {
  const uint64_t applies = system_.tightest_limit();
  if (options_.limit) return options_.limit->of(applies);
  // Others use the machine too: what is available may end before the limit is reached.
  const uint64_t reachable = held_ + system_.available;
  return system_.available ? std::min(applies, reachable) : applies;
}

verdict::Options Watch::judging() const {
  verdict::Options judging;
  judging.limit_bytes = double(limit_bytes());
  judging.phases = steps_.phases();
  judging.steps = steps_.marks();
  judging.step_unit = steps_.unit();
  judging.first_epoch_end = steps_.first_epoch_end();
  return judging;
}

// The verdict so far, for the program itself. Which process and which line a leak is in takes longer to find, the more so
// the first time: at most a tenth of the time is spent on it.
std::string Watch::reply() {
  verdict::Judgement now;
  now.verdict.sentence = "There are too few samples to judge.";
  if (judge_.current()) now.verdict = *judge_.current();
  const bool leaks = now.verdict.kind == verdict::Kind::leak;
  if (leaks && clock_.now() >= next_search_) {
    const double begin = clock_.now();
    culprit_ = judge_.judge(judging(), begin).culprit;
    if (profiling_) line_ = report::growing_line(profiling_->quick_report(now.verdict, begin));
    next_search_ = clock_.now() + 10 * (clock_.now() - begin);
  }
  if (leaks) now.culprit = culprit_;
  return verdict_reply(now, sampler_->latest().bytes, leaks ? line_ : std::string());
}

diagnose::Judgement Watch::judge(double until) {
  steps_.end(until);
  verdict::Options judging = this->judging();
  judging.ended = stop_ == Stop::ended;
  if (recorder_) {  // what a later judgement of the record needs to be the same
    if (judging.ended) recorder_->configuration("program_ended", "1");
    if (judging.step_unit != std::string_view("step"))
      recorder_->configuration("step_unit", judging.step_unit);
    if (judging.first_epoch_end)
      recorder_->configuration("first_epoch_end", fmt::format("{}", *judging.first_epoch_end));
  }
  if (denied_)
    note(
        fmt::format("PSS of {} process{} cannot be read: resident anonymous memory is used, which counts "
                    "pages shared after a "
                    "fork more than once",
                    denied_, denied_ == 1 ? "" : "es"));
  diagnose::Judgement judgement = judge_.judge(judging, until);
  verdict::Verdict& v = judgement.verdict;
  if (v.limit_bytes <= 0) v.limit_bytes = judging.limit_bytes;
  return judgement;
}

int Watch::finish() {
  console_.close();
  if (stop_ == Stop::ended) judge_.leave_out_the_end();
  const double until = judge_.close(std::max(last_sample_, 0.0));
  diagnose::Judgement judgement = judge(until);
  std::optional<diagnose::SiteReport> sites;
  if (profiling_) {
    profiling_->look(clock_.now());
    profiling_->reached(steps_.marks());
    sites = profiling_->report(judgement.verdict, until);
    diagnose::join(judgement, judge_.history(), *sites);
  }
  const diagnose::SiteReport* lines = sites ? &*sites : nullptr;
  const std::string json = report::final_line(judgement, judge_.history(), until, options_.all, lines);
  if (recorder_ && lines) recorder_->sites(*lines, until);
  if (recorder_) recorder_->finish(judgement, json, until);

  console_.say(report::final_text(judgement, judge_.history(), notes_, lines));
  if (options_.json) {
    if (output_ && !output_->ends_with_newline()) std::fputc('\n', stdout);
    std::fputs((json + "\n").c_str(), stdout);
    std::fflush(stdout);
  }
  if (options_.fail_on_leak && judgement.verdict.kind == verdict::Kind::leak) return int(Exit::leak);
  if (!target_.child() || stop_ == Stop::duration) return int(Exit::done);
  return target_.exit_code().value_or(int(Exit::interrupted));
}

int Watch::run() {
  double next = 0;
  while (stop_ == Stop::none) {
    sample();
    if (stop_ != Stop::none) break;
    next = std::max(std::min(next, last_sample_) + options_.interval,
                    clock_.now());  // behind: skip what was missed
    const bool last = options_.duration > 0 && next >= options_.duration;
    wait_until(last ? options_.duration : next);
    target_.reap();
    if (stop_ == Stop::none && options_.duration > 0 && clock_.now() >= options_.duration)
      stop_ = Stop::duration;
  }
  end_program();
  if (output_) output_->drain();
  return finish();
}

}  // namespace

int watch_tree(const WatchOptions& options) { return Watch(options).run(); }

}  // namespace plimsoll::watch
