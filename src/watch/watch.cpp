#include "watch/watch.hpp"

#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <deque>
#include <memory>

#include "base/error.hpp"
#include "base/mask.hpp"
#include "live/companion.hpp"
#include "live/terminal.hpp"
#include "observe/find_training.hpp"
#include "observe/sampler.hpp"
#include "observe/step_socket.hpp"
#include "platform/child.hpp"
#include "report/judgement_text.hpp"
#include "report/sites_text.hpp"
#include "verdict/step_marks.hpp"
#include "watch/live_line.hpp"
#include "watch/recorder.hpp"
#include "watch/relay.hpp"
#include "watch/view.hpp"

namespace plimsoll::watch {
namespace {

double clock_seconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

class Watch {
 public:
  explicit Watch(const WatchOptions& options);
  int run();

 private:
  enum class Stop { none, ended, duration, interrupted };

  double now() const { return clock_seconds(CLOCK_MONOTONIC) - begin_; }
  int attach();
  void launch();
  void sample();
  void show(const observe::Snapshot& snapshot);
  void draw(const observe::Snapshot& snapshot);
  // Standard output belongs to a launched program, or to the JSON.
  int said_to() const { return options_.json || !options_.command.empty() ? STDERR_FILENO : STDOUT_FILENO; }
  void wait_until(double time);
  void take_signal(const platform::SignalQueue::Arrived& arrived);
  void take(const observe::Recognised& event);
  void notice_gap(double time);
  void keep(const observe::Snapshot& snapshot);
  void leave_out_the_end();
  void look_online(const observe::Snapshot& snapshot);
  void end_program();
  bool tree_ended(const observe::Snapshot& snapshot) const;
  uint64_t limit_bytes() const;
  int finish();
  void say(const std::string& text) const;
  void note(std::string text);

  WatchOptions options_;
  live::Companion server_;  // ends last: readers see the end of the record
  proc::Files files_;
  platform::SignalQueue signals_;
  std::unique_ptr<observe::StepPattern> pattern_;
  std::unique_ptr<observe::StepSocket> socket_;
  std::unique_ptr<Profiling> profiling_;
  std::unique_ptr<platform::Child> child_;
  std::unique_ptr<Relay> output_, error_;
  observe::LineCutter output_lines_, error_lines_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<observe::Sampler> sampler_;

  diagnose::History history_;
  verdict::Series tree_{8192};
  std::unique_ptr<verdict::OnlineVerdict>
      online_;  // for the moment a leak is first seen; the end is judged anew
  struct Late {
    double time;
    uint64_t bytes;
    size_t processes;
  };
  std::deque<Late> late_;  // the newest samples wait here: those of a tree that is coming down are not judged
  observe::StepCounter steps_;
  verdict::StepMarks marks_;
  std::optional<int64_t> last_step_;
  std::vector<verdict::Phase> phases_;
  std::vector<std::string> notes_;
  observe::System system_;
  double begin_ = 0, asleep_ = 0, last_sample_ = -1, next_line_ = 0, stopped_at_ = 0;
  size_t denied_ = 0;
  live::BottomRows view_{said_to()};
  Stop stop_ = Stop::none;
  int interrupts_ = 0;
  bool said_disk_ = false, said_left_behind_ = false;
};

Watch::Watch(const WatchOptions& options)
    : options_(options),
      server_(options.serve),
      files_(options.roots),
      signals_({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD, SIGWINCH}) {
  if (!options_.step_regex.empty()) pattern_ = std::make_unique<observe::StepPattern>(options_.step_regex);
  int root = options_.command.empty() ? attach() : 0;
  if (!options_.out.empty() || server_.serving()) {
    const std::string path = options_.out.empty() ? live::temporary_record().string() : options_.out;
    recorder_ = std::make_unique<Recorder>(path);
    server_.follow(path, options_.out.empty());
  }
  if (server_.serving()) say(fmt::format("plimsoll: live at {}\n", server_.url()));
  begin_ = clock_seconds(CLOCK_MONOTONIC);
  asleep_ = clock_seconds(CLOCK_BOOTTIME) - begin_;
  if (!options_.command.empty()) {
    launch();
    root = child_->pid();
  }
  sampler_ = std::make_unique<observe::Sampler>(files_, observe::ProcessTree(files_, root, child_ != nullptr),
                                                observe::SamplerOptions{});
  if (recorder_) {
    recorder_->configuration("interval_seconds", fmt::format("{}", options_.interval));
    if (child_)
      recorder_->configuration("command", display_command(options_.command));
    else
      recorder_->configuration("pid", std::to_string(root));
  }
}

// The pid to follow, checked to be there.
int Watch::attach() {
  if (options_.find_training) {
    auto candidates = observe::find_training(files_);
    if (candidates.empty())
      fail_input("no running process looks like training{}; name one with --pid",
                 files_.hides_processes() ? " (and /proc hides processes of other users)" : "");
    say(observe::describe_candidates(candidates));
    return candidates.front().pid;
  }
  auto stat = files_.stat(options_.pid);
  if (!stat)
    fail_input("there is no process {}{}; see `ps` for those there are, or use --find-training", options_.pid,
               files_.hides_processes() ? " to be seen (/proc hides processes of other users)" : "");
  if (stat->state == 'Z')
    fail_input("process {} has ended already (a zombie its parent has not collected)", options_.pid);
  return options_.pid;
}

void Watch::launch() {
  platform::LaunchOptions launch{.command = options_.command, .environment = {}, .pipes = options_.steps};
  if (options_.steps) {
    socket_ = std::make_unique<observe::StepSocket>();
    launch.environment.emplace_back("PLIMSOLL_SOCKET", socket_->path());
  }
  if (options_.profile.on) {
    profiling_ = std::make_unique<Profiling>(files_, options_.profile, options_.out);
    for (auto& variable : profiling_->environment()) launch.environment.push_back(std::move(variable));
  }
  signal(SIGPIPE, SIG_IGN);  // a reader of ours that goes away is seen at the write
  child_ = std::make_unique<platform::Child>(launch);
  auto reader = [this](observe::LineCutter& cutter) {
    return [this, &cutter](std::string_view bytes) {
      cutter.feed(bytes, [this](std::string_view line) { take(observe::recognise(line, pattern_.get())); });
    };
  };
  output_ = std::make_unique<Relay>(child_->output(), STDOUT_FILENO, reader(output_lines_));
  error_ = std::make_unique<Relay>(child_->error(), STDERR_FILENO, reader(error_lines_));
}

void Watch::say(const std::string& text) const {
  FILE* to = said_to() == STDERR_FILENO ? stderr : stdout;
  std::fputs(text.c_str(), to);
  std::fflush(to);
}

void Watch::note(std::string text) {
  if (recorder_) recorder_->event("note", text, std::max(0.0, now()));
  if (notes_.size() < 20) notes_.push_back(std::move(text));
}

void Watch::take(const observe::Recognised& event) {
  double time = now();
  if (!event.phase.empty() && (phases_.empty() || phases_.back().name != event.phase)) {
    if (!phases_.empty()) phases_.back().end = time;
    // The oldest give way: a run of weeks has many validations, the last thousand tell as much.
    if (phases_.size() >= 1000) phases_.erase(phases_.begin(), phases_.begin() + 500);
    phases_.push_back({time, time, event.phase});
    if (recorder_) recorder_->phase(escape(event.phase), time);
  }
  observe::StepSource before = steps_.source();
  steps_.take(event);
  auto step = steps_.step();
  if (!step || (!event.step && event.source == observe::StepSource::none)) return;
  if (steps_.source() != before) marks_.clear();
  marks_.see(time, double(*step));
  bool forward = step != last_step_;
  last_step_ = step;
  if (recorder_ && forward) recorder_->step(*step, time);
}

void Watch::notice_gap(double time) {
  double asleep = clock_seconds(CLOCK_BOOTTIME) - clock_seconds(CLOCK_MONOTONIC);
  if (asleep - asleep_ > 1) {
    note(fmt::format("the machine slept for {} at {}; that time is not counted",
                     format_duration(asleep - asleep_), format_duration(time)));
    asleep_ = asleep;
  } else if (last_sample_ >= 0 && time - last_sample_ > std::max(5.0, 5 * options_.interval)) {
    note(fmt::format("no samples for {} before {} (plimsoll was stopped or the machine was busy)",
                     format_duration(time - last_sample_), format_duration(time)));
  }
}

// Holds the newest samples back; those older are judged for good.
void Watch::keep(const observe::Snapshot& snapshot) {
  size_t living = size_t(std::count_if(snapshot.processes.begin(), snapshot.processes.end(),
                                       [](const observe::Process& process) { return !process.zombie(); }));
  late_.push_back({snapshot.time, snapshot.bytes, living});
  if (late_.size() > 12) {
    tree_.add(late_.front().time, late_.front().bytes);
    late_.pop_front();
  }
}

void Watch::look_online(const observe::Snapshot& snapshot) {
  if (!online_)
    online_ =
        std::make_unique<verdict::OnlineVerdict>(verdict::Options{.limit_bytes = double(limit_bytes())});
  bool before = online_->first_leak().has_value();
  online_->add({snapshot.time, double(snapshot.bytes)});
  if (before || !online_->first_leak()) return;
  std::string sentence = online_->current().sentence;
  if (profiling_)
    if (const std::string line = report::fastest_site(profiling_->report(online_->current(), snapshot.time));
        !line.empty())
      sentence += " " + line;
  if (recorder_) recorder_->event("leak", sentence, snapshot.time);
  if (!options_.quiet) say("plimsoll: " + sentence + "\n");
}

// A program that ends lets its processes go and gives memory back step by step; that says nothing about a
// leak.
void Watch::leave_out_the_end() {
  size_t most = 0;
  for (const Late& sample : late_) most = std::max(most, sample.processes);
  while (late_.size() > 1 && late_.back().processes < most) late_.pop_back();
  while (late_.size() > 1 && double(late_.back().bytes) < 0.99 * double(late_[late_.size() - 2].bytes))
    late_.pop_back();
}

void Watch::sample() {
  double time = now();
  notice_gap(time);
  const observe::Snapshot& snapshot = sampler_->sample(time);
  last_sample_ = time;
  if (snapshot.bytes > 0) {
    history_.add(snapshot);
    keep(snapshot);
    system_ = snapshot.system;
    if (recorder_) recorder_->snapshot(snapshot, steps_.step(), limit_bytes());
    denied_ = std::max(denied_, snapshot.denied);
    if (profiling_) profiling_->sample(snapshot);
    look_online(snapshot);
  }
  if (recorder_ && !recorder_->error().empty() && !said_disk_) {
    said_disk_ = true;
    say(fmt::format("plimsoll: {}; watching goes on\n", recorder_->error()));
    note(fmt::format("the record has gaps: {}", recorder_->error()));
  }
  if (!options_.quiet) show(snapshot);
  if (tree_ended(snapshot)) stop_ = Stop::ended;
}

bool Watch::tree_ended(const observe::Snapshot& snapshot) const {
  if (child_ && !child_->exit_code()) return false;
  if (child_ && options_.until_command) return true;
  return std::all_of(snapshot.processes.begin(), snapshot.processes.end(),
                     [](const observe::Process& p) { return p.zombie(); });
}

void Watch::draw(const observe::Snapshot& snapshot) {
  const live::TerminalSize size = live::terminal_size(said_to());
  const diagnose::Roles roles = diagnose::find_roles(history_);
  const WatchView view{snapshot,
                       roles,
                       history_,
                       tree_,
                       online_ ? &online_->current() : nullptr,
                       {steps_.step(), phases_.empty() ? "" : phases_.back().name}};
  view_.draw(watch_view(view, {.columns = size.columns - 1,
                               .rows = std::min(size.rows / 2, 20),
                               .unicode = live::speaks_unicode(),
                               .colour = live::wants_colour()}));
}

void Watch::show(const observe::Snapshot& snapshot) {
  if (child_ && child_->exit_code() && !said_left_behind_ && !tree_ended(snapshot)) {
    said_left_behind_ = true;
    say(fmt::format("plimsoll: the command has ended with {}; processes it left behind are watched on\n",
                    *child_->exit_code()));
  }
  if (snapshot.bytes == 0) return;
  if (live::is_terminal(said_to())) {
    draw(snapshot);
  } else if (snapshot.time >= next_line_) {
    // Often at first, then once a minute: a log of a day stays readable.
    next_line_ = snapshot.time + (snapshot.time < 10 ? 5 : snapshot.time < 120 ? 20 : 60);
    say("plimsoll: " + live_line(snapshot, {steps_.step(), phases_.empty() ? "" : phases_.back().name}) +
        "\n");
  }
}

void Watch::take_signal(const platform::SignalQueue::Arrived& arrived) {
  if (arrived.signal == SIGWINCH) {
    if (!options_.quiet && last_sample_ >= 0 && live::is_terminal(said_to())) draw(sampler_->latest());
    return;
  }
  if (arrived.signal == SIGCHLD) {
    if (child_) child_->reap();
    return;
  }
  if (child_ && !arrived.from_terminal) child_->send(arrived.signal);
  if (arrived.signal == SIGUSR1 || arrived.signal == SIGUSR2) return;
  if (arrived.signal == SIGQUIT && child_) return;
  ++interrupts_;
  stop_ = Stop::interrupted;
}

// Waits for the next tick, passing output on and listening meanwhile; returns early when watching is to stop.
void Watch::wait_until(double time) {
  while (stop_ == Stop::none || child_) {
    double left = time - now();
    if (left <= 0) return;
    pollfd waits[4] = {{signals_.descriptor(), POLLIN, 0},
                       {socket_ ? socket_->descriptor() : -1, POLLIN, 0},
                       output_ ? output_->wants() : pollfd{-1, 0, 0},
                       error_ ? error_->wants() : pollfd{-1, 0, 0}};
    int ready = poll(waits, 4, int(std::ceil(std::min(left, 60.0) * 1000)));
    if (ready < 0 && errno != EINTR) fail("waiting for the next sample failed ({})", errno);
    if (ready <= 0) continue;
    if (waits[1].revents) socket_->drain([this](const observe::Recognised& event) { take(event); });
    if (output_) output_->advance(waits[2].revents);
    if (error_) error_->advance(waits[3].revents);
    if (output_ && output_->broken()) child_->close_output();
    if (error_ && error_->broken()) child_->close_error();
    if (waits[0].revents) {
      Stop before = stop_;
      while (auto arrived = signals_.next()) take_signal(*arrived);
      // The end of the program is worth a look at once, not at the next tick.
      if (stop_ != before || (child_ && child_->exit_code())) return;
    }
  }
}

// After watching: lets a launched program end, helping where it was we who ended the watch.
void Watch::end_program() {
  if (!child_) return;
  stopped_at_ = now();
  if (stop_ == Stop::duration) child_->send(SIGTERM);
  bool asked_again = false;
  std::string text;
  while (!child_->exit_code()) {
    double waited = now() - stopped_at_;
    if (stop_ == Stop::duration && waited > 5) {
      for (const observe::Process& process : sampler_->sample(now()).processes) kill(process.id.pid, SIGKILL);
    } else if (stop_ == Stop::interrupted) {
      if (interrupts_ >= 2) return;  // asked twice: the program is left to itself
      // A program started in the background ignores SIGINT: it would never end by it.
      if (!asked_again && waited > 2 && files_.read(child_->pid(), "status", text, 8192) == proc::Read::ok &&
          (proc::parse_status(text).ignored_signals >> (SIGINT - 1) & 1)) {
        child_->send(SIGTERM);
        asked_again = true;
      }
    }
    wait_until(now() + 0.25);
    child_->reap();
  }
  if (stop_ == Stop::duration)
    for (const observe::Process& process : sampler_->sample(now()).processes)
      if (!process.zombie()) kill(process.id.pid, SIGTERM);
}

uint64_t Watch::limit_bytes() const {
  uint64_t applies = system_.total;
  if (system_.limit) applies = applies ? std::min(applies, system_.limit->bytes) : system_.limit->bytes;
  return options_.limit ? options_.limit->of(applies) : applies;
}

int Watch::finish() {
  view_.close();
  if (stop_ == Stop::ended) leave_out_the_end();
  double until = late_.empty() ? std::max(last_sample_, 0.0) : late_.back().time;
  for (const Late& sample : late_) tree_.add(sample.time, sample.bytes);
  if (!phases_.empty()) phases_.back().end = until;

  verdict::Options judging;
  judging.limit_bytes = double(limit_bytes());
  judging.phases = phases_;
  judging.steps = marks_.marks();
  if (denied_)
    note(fmt::format(
        "PSS of {} process{} may not be read: RSS is used, which counts shared pages more than once", denied_,
        denied_ == 1 ? "" : "es"));

  diagnose::Judgement judgement = diagnose::judge_tree(tree_, history_, judging, until);
  verdict::Verdict& v = judgement.verdict;
  if (v.limit_bytes <= 0) v.limit_bytes = judging.limit_bytes;
  // Others use the machine too: what is available may end before the limit is reached.
  if (v.kind == verdict::Kind::leak && v.seconds_to_limit && v.rate > 0 && system_.available > 0 &&
      double(system_.available) / v.rate < *v.seconds_to_limit)
    note(fmt::format("what the machine has available now lasts for {} at this rate",
                     format_duration(double(system_.available) / v.rate)));
  std::optional<diagnose::SiteReport> sites;
  if (profiling_) {
    profiling_->look(now());
    sites = profiling_->report(v, until);
  }
  std::string json = report::final_json(judgement, history_, until, options_.all, sites ? &*sites : nullptr);
  if (recorder_ && sites) recorder_->sites(*sites, until);
  if (recorder_) recorder_->finish(judgement, json, until);

  say(report::final_text(judgement, history_, notes_, sites ? &*sites : nullptr));
  if (options_.json) {
    if (output_ && !output_->ends_with_newline()) std::fputc('\n', stdout);
    std::fputs((json + "\n").c_str(), stdout);
    std::fflush(stdout);
  }
  if (options_.fail_on_leak && v.kind == verdict::Kind::leak) return int(Exit::leak);
  if (!child_ || stop_ == Stop::duration) return int(Exit::done);
  return child_->exit_code().value_or(int(Exit::interrupted));
}

int Watch::run() {
  double next = 0;
  while (stop_ == Stop::none) {
    sample();
    if (stop_ != Stop::none) break;
    next += options_.interval;
    if (next < now()) next = now();  // behind: skip what was missed
    bool last = options_.duration > 0 && next >= options_.duration;
    wait_until(last ? options_.duration : next);
    if (child_) child_->reap();
    if (stop_ == Stop::none && options_.duration > 0 && now() >= options_.duration) stop_ = Stop::duration;
  }
  end_program();
  if (output_) output_->drain();
  if (error_) error_->drain();
  return finish();
}

}  // namespace

int watch_tree(const WatchOptions& options) { return Watch(options).run(); }

}  // namespace plimsoll::watch
