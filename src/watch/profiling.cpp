#include "watch/profiling.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "diagnose/join.hpp"
#include "platform/clock.hpp"

namespace plimsoll::watch {
namespace {

// Seconds a line without epochs must have grown while the program runs, as for the tree (TreeJudge).
constexpr double patience = 40;

std::string folder_of(const std::string& out) {
  if (out.empty()) return {};
  const std::string parent = std::filesystem::path(out).parent_path().string();
  return parent.empty() ? "." : parent;
}

// Runs the program its parent runs: it was forked and did not become another.
bool forked(const observe::Process& process, const observe::Snapshot& snapshot) {
  return std::any_of(snapshot.processes.begin(), snapshot.processes.end(),
                     [&](const observe::Process& other) {
                       return other.id.pid == process.parent && other.command == process.command;
                     });
}

}  // namespace

Profiling::Profiling(const proc::Files& files, const ProfileOptions& options, const std::string& out)
    : files_(files), rate_(options.rate), collector_(folder_of(out), options.rate) {
  if (options.attach) attachment_ = std::make_unique<Attachment>(files, collector_.folder(), rate_);
}

void Profiling::sample(const observe::Snapshot& snapshot) {
  if (attachment_) attachment_->sample(snapshot);
  collector_.look(snapshot.time);
  if (snapshot.time >= next_memory_) read_memory(snapshot);
}

uint64_t Profiling::live_in(int pid) const {
  uint64_t live = 0;
  for (const auto& process : collector_.processes())
    if (!process->ended && process->pid == pid)
      for (const heap::LiveSite& site : process->held) live += site.footprint;
  return live;
}

// smaps costs the kernel a walk over the page tables: at most two percent of the time are spent on it.
void Profiling::read_memory(const observe::Snapshot& snapshot) {
  const double begin = platform::monotonic_seconds();
  heap::MemoryClasses all;
  uint64_t live = 0;
  for (const observe::Process& process : snapshot.processes) {
    if (process.zombie()) continue;
    heap::SmapsClassifier classifier;
    if (files_.each_line(process.id.pid, "smaps",
                         [&](std::string_view line) { classifier.add_line(line); }) != proc::Read::ok)
      continue;
    const heap::MemoryClasses& classes = classifier.classes();
    all += classes;
    // What a forked process inherited and has copied was never given back.
    live +=
        forked(process, snapshot) ? classes.anonymous : std::min(classes.anonymous, live_in(process.id.pid));
  }
  next_memory_ = snapshot.time + std::max(1.0, 50 * (platform::monotonic_seconds() - begin));
  if (all.sum() == 0) return;
  if (attachment_) attachment_->memory(all);
  const diagnose::HeldMemory now = diagnose::held_memory(all, live);
  // The end of a program is not what it held.
  if (memory_ && now.pss < memory_->pss / 2 && now.pss < first_memory_->pss) return;
  memory_ = now;
  if (!first_memory_ || snapshot.time < 3) first_memory_ = memory_;
}

diagnose::SiteReport Profiling::report(const verdict::Verdict& tree, double until, How how) {
  if (tree.judged_until > 0) until = std::min(until, tree.judged_until);
  diagnose::SiteReport report = diagnose::judge_sites(
      collector_, &symbols_, {.until = until, .own_names_only = how.quick, .sample_bytes = double(rate_)});
  report.memory = memory_;
  if (attachment_ && report.memory) {
    // What was allocated before is not known to the library: nothing can be said of what the allocator keeps.
    report.memory->live_heap += std::exchange(report.memory->retained, 0);
    report.outside = &attachment_->seen();
  }
  diagnose::Evidence evidence{.tree = tree,
                              .epochs = epochs_,
                              .live_rate = report.live_rate,
                              .sample_bytes = double(rate_),
                              .patience = how.running ? patience : 0,
                              .before = first_memory_,
                              .now = memory_};
  // From outside nobody knows what the program has freed.
  if (attachment_ && attachment_->seen().woken == 0) evidence.before.reset(), evidence.now.reset();
  for (const diagnose::Site& site : report.sites)
    evidence.lines.push_back({site.place.text(), site.held, site.verdict.kind, site.rate, site.grown,
                              site.verdict.onset, site.none_freed,
                              site.content == diagnose::Content::kernel_cache});
  diagnose::adopt(diagnose::answer(evidence), double(rate_), report);
  if (collector_.processes().empty() && !attachment_)
    report.notes.emplace_back(
        "no process wrote a heap file: static and setuid programs cannot be profiled, nor can one that "
        "allocates next "
        "to nothing");
  return report;
}

}  // namespace plimsoll::watch
