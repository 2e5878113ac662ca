// What `profile` adds to a watch: the collector of heap files, the memory of the tree by class, and the report on both.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "diagnose/sites.hpp"
#include "heap/collector.hpp"
#include "heap/symbols.hpp"
#include "observe/process.hpp"
#include "platform/proc.hpp"
#include "watch/attachment.hpp"

namespace plimsoll::watch {

struct ProfileOptions {
  bool on = false;
  bool attach = false;  // to processes that run already
  uint64_t rate = heap::Collector::default_rate;
};

class Profiling {
 public:
  // The folder for heap files is made beside the run file where there is one.
  Profiling(const proc::Files& files, const ProfileOptions& options, const std::string& out);

  std::vector<std::pair<std::string, std::string>> environment() const { return collector_.environment(); }
  void sample(const observe::Snapshot& snapshot);
  void look(double time) { collector_.look(time); }
  void epoch(int64_t number, double time) { epochs_.see(number, time); }
  const diagnose::Epochs& epochs() const { return epochs_; }
  // A step has just ended: the program is at work.
  void stepped(double time) {
    collector_.at_work();
    if (!first_step_) first_step_ = time;
  }
  // How far the program is, told before each report: the marks move as more are made.
  void reached(std::span<const verdict::StepMark> steps) { steps_ = steps; }
  // After the program has ended.
  diagnose::SiteReport report(const verdict::Verdict& tree, double until) {
    return report(tree, until, {.quick = false, .running = false, .verdicts = true});
  }
  // While it runs: functions of system libraries are not named, so that samples are not held up.
  diagnose::SiteReport quick_report(const verdict::Verdict& tree, double until) {
    return report(tree, until, {.quick = true, .running = true, .verdicts = true});
  }
  // The same without a verdict on each line: only the answer is wanted, and often.
  diagnose::SiteReport quick_answer(const verdict::Verdict& tree, double until) {
    return report(tree, until, {.quick = true, .running = true, .verdicts = false});
  }
  // Whether the careful report can be made at once. If not, the files that hold its names are being opened.
  bool names_are_ready();
  // While it runs, before something is said aloud.
  diagnose::SiteReport careful_report(const verdict::Verdict& tree, double until) {
    return report(tree, until, {.quick = false, .running = true, .verdicts = true});
  }

 private:
  struct How {
    bool quick, running, verdicts;
  };
  diagnose::SiteReport report(const verdict::Verdict& tree, double until, How how);
  void read_memory(const observe::Snapshot& snapshot);
  double settled(double time) const;
  double most_of_first(const diagnose::Site& site, double settled);
  uint64_t stays_untouched(double time) const;
  std::optional<diagnose::HeldMemory> memory_at(double time) const;
  uint64_t live_in(int pid) const;  // footprint of what its sites hold
  uint64_t most_kept(int pid);

  const proc::Files& files_;
  uint64_t rate_;
  heap::Collector collector_;
  heap::Symbols symbols_;
  diagnose::Epochs epochs_;
  std::optional<double> first_step_;
  std::unique_ptr<Attachment> attachment_;
  std::optional<diagnose::HeldMemory> memory_;
  std::optional<double> fell_at_;  // when less than half of it was left, while that may be the end
  std::vector<diagnose::MemoryReading> readings_;  // by time
  double next_memory_ = 0;
  std::string called_;  // the line that was said to leak while the program ran
  std::span<const verdict::StepMark> steps_;
  std::map<int, uint64_t> footprints_;  // by process, as last seen
  struct Malloc {
    uint64_t number;  // of the program the process ran
    heap::RemoteMalloc remote;
    uint64_t system_bytes;  // when they could last be read
  };
  std::map<int, Malloc> mallocs_;                // by process
  std::map<std::string, double> most_of_first_;  // by line: see HeldLine
};

}  // namespace plimsoll::watch
