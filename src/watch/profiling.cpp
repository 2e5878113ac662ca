#include "watch/profiling.hpp"

#include <algorithm>
#include <filesystem>

#include "platform/clock.hpp"

namespace plimsoll::watch {
namespace {

std::string folder_of(const std::string& out) {
  if (out.empty()) return {};
  const std::string parent = std::filesystem::path(out).parent_path().string();
  return parent.empty() ? "." : parent;
}

}  // namespace

Profiling::Profiling(const proc::Files& files, const ProfileOptions& options, const std::string& out)
    : files_(files), collector_(folder_of(out), options.rate) {}

void Profiling::sample(const observe::Snapshot& snapshot) {
  collector_.look(snapshot.time);
  if (snapshot.time >= next_memory_) read_memory(snapshot);
}

// smaps costs the kernel a walk over the page tables: at most two percent of the time are spent on it.
void Profiling::read_memory(const observe::Snapshot& snapshot) {
  const double begin = platform::monotonic_seconds();
  heap::SmapsClassifier classifier;
  size_t read = 0;
  for (const observe::Process& process : snapshot.processes) {
    if (process.zombie()) continue;
    read += files_.each_line(process.id.pid, "smaps",
                             [&](std::string_view line) { classifier.add_line(line); }) == proc::Read::ok;
  }
  next_memory_ = snapshot.time + std::max(1.0, 50 * (platform::monotonic_seconds() - begin));
  if (read == 0 || classifier.classes().sum() == 0) return;
  uint64_t live = 0;
  for (const auto& process : collector_.processes())
    if (!process->ended)
      for (const heap::LiveSite& site : process->held) live += site.footprint;
  const diagnose::HeldMemory now = diagnose::held_memory(classifier.classes(), live);
  // The end of a program is not what it held.
  if (memory_ && now.pss < memory_->pss / 2 && now.pss < first_memory_->pss) return;
  memory_ = now;
  if (!first_memory_ || snapshot.time < 3) first_memory_ = memory_;
}

diagnose::SiteReport Profiling::report(const verdict::Verdict& tree, double until, bool quick) {
  if (tree.judged_until > 0) until = std::min(until, tree.judged_until);
  diagnose::SiteReport report =
      diagnose::judge_sites(collector_, &symbols_, {.until = until, .own_names_only = quick});
  report.memory = memory_;
  diagnose::Evidence evidence{tree, epochs_, {}, {}, report.live_rate, first_memory_, memory_};
  const auto gain = [](const diagnose::Site& site) {
    return site.held.empty() ? 0.0 : site.held.back().bytes - site.held.front().bytes;
  };
  const auto most = std::max_element(report.sites.begin(), report.sites.end(),
                                     [&](const auto& a, const auto& b) { return gain(a) < gain(b); });
  if (most != report.sites.end()) {
    evidence.line = most->place.text();
    evidence.held = most->held;
  }
  diagnose::Answered answered = diagnose::answer(evidence);
  report.answer = answered.answer;
  report.reason = std::move(answered.reason);
  if (collector_.processes().empty())
    report.notes.emplace_back(
        "no process wrote a heap file: static and setuid programs cannot be profiled, nor can one that "
        "allocates next "
        "to nothing");
  return report;
}

}  // namespace plimsoll::watch
