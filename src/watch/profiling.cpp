#include "watch/profiling.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <set>
#include <utility>

#include "diagnose/join.hpp"
#include "diagnose/survivors.hpp"
#include "platform/clock.hpp"

namespace plimsoll::watch {
namespace {

// While a program runs only epochs and the tree call a leak: a line on its own may still be starting up.
constexpr double patience = std::numeric_limits<double>::infinity();

constexpr size_t most_footprints = 4096;
constexpr double shortest_life = 0.5, part_of_an_epoch = 0.01;  // seconds

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
  if (footprints_.size() > most_footprints) footprints_.clear();  // of a fork storm
  for (const observe::Process& process : snapshot.processes)
    if (!process.zombie()) footprints_[process.id.pid] = process.footprint();
  if (snapshot.time >= next_memory_) read_memory(snapshot);
}

// When growth began; the earliest reading where that was before.
std::optional<diagnose::HeldMemory> Profiling::memory_at(double time) const {
  std::optional<diagnose::HeldMemory> found;
  for (const auto& [when, memory] : readings_)
    if (!found || when <= time) found = memory;
  return found;
}

// What was only just asked for may be about to be touched: the least of the last readings.
uint64_t Profiling::stays_untouched(double time) const {
  constexpr size_t several = 5;
  uint64_t least = UINT64_MAX;
  size_t count = 0;
  for (auto reading = readings_.rbegin(); reading != readings_.rend() && count < several; ++reading)
    if (reading->first <= time) least = std::min(least, reading->second.untouched), ++count;
  return count == several ? least : 0;
}

uint64_t Profiling::live_in(int pid) const {
  uint64_t live = 0;
  for (const auto& process : collector_.processes())
    if (!process->ended && process->pid == pid)
      for (const heap::LiveSite& site : process->held) live += site.footprint;
  return live;
}

// The most that the allocator of a process can keep: what it has from the system. Memory beyond that came in another way, as
// the heap of V8 or Go does, and nobody knows how much of it was freed.
uint64_t Profiling::most_kept(int pid) {
  const auto& processes = collector_.processes();
  const auto its = std::find_if(processes.begin(), processes.end(),
                                [&](const auto& process) { return process->pid == pid && !process->ended; });
  if (its == processes.end() || (*its)->reader->header().allocator != std::string_view("libc"))
    return UINT64_MAX;
  const uint64_t number = (*its)->number;
  auto at = mallocs_.find(pid);
  if (at == mallocs_.end() || at->second.number != number || !at->second.remote.found())
    at = mallocs_.insert_or_assign(pid, Malloc{number, heap::RemoteMalloc(files_, pid), UINT64_MAX}).first;
  Malloc& malloc = at->second;
  malloc.system_bytes = malloc.remote.system_bytes().value_or(malloc.system_bytes);
  const uint64_t arenas = (*its)->reader->header().arena_bytes;
  return malloc.system_bytes < UINT64_MAX - arenas ? malloc.system_bytes + arenas : UINT64_MAX;
}

constexpr double longest_gap = 5;  // seconds without a reading, because processes keep ending
constexpr double longest_end = 5;  // seconds in which a program takes itself apart

// smaps costs the kernel a walk over the page tables: at most two percent of a processor are spent on it.
void Profiling::read_memory(const observe::Snapshot& snapshot) {
  const double begin = platform::processor_seconds();
  const std::string folder = std::filesystem::path(collector_.folder()).filename().string();
  heap::MemoryClasses all, mapped;
  uint64_t live = 0, untouched = 0, unprofiled = 0, unseen = 0;
  std::vector<int> read;
  for (const observe::Process& process : snapshot.processes) {
    if (process.zombie()) continue;
    heap::SmapsClassifier classifier;
    bool sampled = false;  // has its heap file mapped: what it was before exec may have had one too
    if (files_.each_line(process.id.pid, "smaps", [&](std::string_view line) {
          classifier.add_line(line);
          sampled = sampled || line.find(folder) != line.npos;
        }) != proc::Read::ok)
      continue;
    read.push_back(process.id.pid);
    heap::MemoryClasses classes = classifier.classes();
    const uint64_t own = sampled ? std::min(classes.anonymous, heap::library_bytes) : 0;
    classes.anonymous -= own, classes.other += own;
    mapped += classes;
    // Of a process without a heap file nobody knows what it has freed.
    const uint64_t unknown = sampled ? 0 : classes.anonymous;
    classes.anonymous -= unknown, classes.other += unknown, unprofiled += unknown;
    // What a forked process inherited and has copied was never given back.
    const uint64_t held = forked(process, snapshot) || !sampled ? classes.anonymous : live_in(process.id.pid),
                   there = std::min(classes.anonymous, held);
    live += there, untouched += diagnose::untouched(classes, held);
    // After attaching nothing is said of what is kept.
    if (const uint64_t kept = classes.anonymous - there; kept > 0 && !attachment_) {
      const uint64_t beyond = kept - std::min(kept, most_kept(process.id.pid));
      classes.anonymous -= beyond, classes.other += beyond, unseen += beyond;
    }
    all += classes;
  }
  std::erase_if(mallocs_, [&](const auto& entry) {
    return std::find(read.begin(), read.end(), entry.first) == read.end();
  });
  next_memory_ = snapshot.time + std::max(1.0, 50 * (platform::processor_seconds() - begin));
  if (all.sum() == 0) return;
  // What a process shared when it was read is another's alone if it has ended since, and would count twice.
  const bool torn = std::any_of(read.begin(), read.end(), [&](int pid) {
    const auto stat = files_.stat(pid);
    return !stat || stat->exiting || stat->state == 'Z';
  });
  if (torn && memory_ && snapshot.time - readings_.back().first < longest_gap) return;
  if (attachment_) attachment_->memory(mapped);
  diagnose::HeldMemory now = diagnose::held_memory(all, live);
  now.untouched = untouched, now.unprofiled = unprofiled, now.unseen = unseen;
  // The end of a program is not what it held. What lasts is not the end, but what is left after a large process has gone.
  if (memory_ && now.pss < memory_->pss / 2 && now.pss < readings_.front().second.pss) {
    if (!fell_at_) fell_at_ = snapshot.time;
    if (snapshot.time - *fell_at_ < longest_end) return;
  }
  fell_at_.reset();
  memory_ = now;
  if (readings_.size() >= 1024) {  // every second one will do
    for (size_t i = 0; i < readings_.size() / 2; ++i) readings_[i] = readings_[2 * i];
    readings_.resize(readings_.size() / 2);
  }
  constexpr double start_up = 3;  // what a program takes to begin with is no growth
  if (snapshot.time < start_up) readings_.clear();
  readings_.emplace_back(snapshot.time, now);
}

// What was allocated before this and is alive will stay: a whole step is over since.
double Profiling::settled(double time) const {
  const double epoch = epochs_.first_end() ? *epochs_.first_end() - epochs_.begin() : 0,
               moment = time - std::max(shortest_life, part_of_an_epoch * epoch);
  return steps_.size() < 2 ? moment : std::min(moment, steps_[steps_.size() - 2].time);
}

bool Profiling::names_are_ready() {
  std::set<heap::SymbolAddress> addresses;
  for (const auto& process : collector_.processes())
    for (const heap::LiveSite& site : process->held)
      for (const uint32_t number : process->reader->stack(site.site)) {
        const heap::FrameView frame = process->reader->frame(number);
        if (frame.kind == heap::FrameKind::python || frame.module == 0) continue;
        const heap::ModuleView module = process->reader->module(frame.module);
        addresses.insert({{std::string(module.path), std::string(module.build_id)}, frame.address - 1});
      }
  return symbols_.ready(std::vector(addresses.begin(), addresses.end()));
}

// What is alive of the first epoch when it has just ended may still be given back, and does not count yet.
double Profiling::most_of_first(const diagnose::Site& site, double settled) {
  if (!epochs_.first_end() || settled <= *epochs_.first_end() || site.born.empty()) return 0;
  double& most = most_of_first_[site.place.text()];
  return most = std::max(most, diagnose::kept_of_first(site.born, epochs_));
}

diagnose::SiteReport Profiling::report(const verdict::Verdict& tree, double until, How how) {
  const double now = until;
  if (tree.judged_until > 0) until = std::min(until, tree.judged_until);
  diagnose::SiteReport report = diagnose::judge_sites(collector_, &symbols_,
                                                      {.until = until,
                                                       .from = std::min(tree.judged_from, until),
                                                       .own_names_only = how.quick,
                                                       .verdicts = how.verdicts,
                                                       .births = how.running && epochs_.first_end(),
                                                       .freed_stacks = !how.running,
                                                       .sample_bytes = double(rate_),
                                                       .footprints = &footprints_});
  if (first_step_)  // what a line holds by then is no growth: the model, for one
    for (diagnose::Site& site : report.sites)
      if (!site.processes_kept)
        site.grown = diagnose::low_water_growth(diagnose::since(site.held, *first_step_));
  report.memory = memory_at(now);
  if (report.memory) report.memory->untouched = stays_untouched(now);
  if (attachment_ && report.memory) {
    // What was allocated before is not known to the library: nothing can be said of what the allocator keeps.
    report.memory->other -= report.memory->unprofiled;
    report.memory->live_heap +=
        std::exchange(report.memory->retained, 0) + std::exchange(report.memory->unprofiled, 0);
    report.outside = &attachment_->seen();
  }
  diagnose::Evidence evidence{.tree = tree,
                              .epochs = epochs_,
                              .live_rate = report.live_rate,
                              .sample_bytes = double(rate_),
                              .patience = how.running ? patience : 0,
                              .settled = settled(now),
                              .steps = steps_,
                              .called = called_};
  if (!readings_.empty())
    evidence.before = diagnose::held_least(readings_, tree.onset),
    evidence.now = diagnose::held_least(readings_, now);
  // From outside nobody knows what the program has freed.
  if (attachment_ && attachment_->seen().woken == 0) evidence.before.reset(), evidence.now.reset();
  for (const diagnose::Site& site : report.sites)
    evidence.lines.push_back({site.place.text(), site.held, site.verdict.kind, site.rate, site.grown,
                              site.verdict.onset, site.none_freed,
                              site.content == diagnose::Content::kernel_cache, site.born,
                              most_of_first(site, evidence.settled),
                              site.processes_kept ? site.processes_kept->count : 0, site.replaced});
  diagnose::adopt(diagnose::answer(evidence), double(rate_), report);
  const bool said_aloud = how.running && !how.quick;
  if (said_aloud && report.answer == diagnose::Answer::leak && report.answer_site)
    called_ = report.sites[*report.answer_site].place.text();
  if (collector_.processes().empty() && !collector_.refused() && !attachment_)
    report.notes.emplace_back(
        "no process wrote a heap file: static and setuid programs cannot be profiled, nor can one that "
        "allocates next "
        "to nothing");
  return report;
}

}  // namespace plimsoll::watch
