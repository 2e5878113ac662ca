#include "diagnose/answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.hpp"
#include "diagnose/survivors.hpp"

namespace plimsoll::diagnose {
namespace {

constexpr double matters = 0.02;        // of the floor of the tree: growth below it is not worth a word
constexpr double matters_early = 0.01;  // where the line is sure to go on
constexpr double certain = 4, certain_without_frees = 2;  // samples: fewer may be chance
constexpr double rare = -3;                               // standard deviations of a trend
constexpr double next_epoch = 0.2;  // of an epoch: enough to see whether it goes on at the same rate
constexpr double goes_on = 0.6, has_stopped = 0.2;  // of the rate of the first epoch
constexpr double good_part = 0.25;                  // of the growth of the tree: to be named for it

// The least bytes held in [from, until]; nullopt where nothing was seen.
std::optional<double> low_water(std::span<const verdict::Sample> held, double from, double until) {
  std::optional<double> low;
  for (const verdict::Sample& sample : held)
    if (sample.time >= from && sample.time <= until && (!low || sample.bytes < *low)) low = sample.bytes;
  return low;
}

// How fast the low water of a line rose between two times, by its first and last fifth, or by the first and the last look
// where they are few; nullopt where it was not looked at twice.
struct Rise {
  double bytes = 0, rate = 0;
};
std::optional<Rise> rise(std::span<const verdict::Sample> held, double from, double until) {
  while (!held.empty() && held.front().time < from) held = held.subspan(1);
  while (!held.empty() && held.back().time > until) held = held.first(held.size() - 1);
  if (held.size() < 2) return std::nullopt;
  const double part = (until - from) / 5,
               first = *low_water(held, from, std::max(from + part, held.front().time)),
               last = *low_water(held, std::min(until - part, held.back().time), until);
  return Rise{last - first, (last - first) / (4 * part)};
}

double grown(uint64_t now, uint64_t then) { return now > then ? double(now - then) : 0.0; }

// What part of the growth is in this part of the memory.
double share_of(const Evidence& evidence, uint64_t HeldMemory::*part) {
  if (!evidence.before || !evidence.now) return 0;
  const double all = grown(evidence.now->pss, evidence.before->pss);
  return all > 0 ? grown((*evidence.now).*part, (*evidence.before).*part) / all : 0;
}

// What part of the growth the allocator keeps.
double kept_share(const Evidence& evidence) { return share_of(evidence, &HeldMemory::retained); }

// The floor of the tree without what the allocator has come to keep: what a line holds is measured against it.
double own_floor(const Evidence& evidence) {
  if (!evidence.before || !evidence.now) return evidence.tree.floor_end;
  return std::max(0.0, evidence.tree.floor_end - grown(evidence.now->retained, evidence.before->retained));
}

std::string goes_on_text(const HeldLine& line) {
  return fmt::format("{} holds more and more, in the second epoch as in the first", line.name);
}

// While the program runs, of the lines that keep as much of the second epoch as of the first the one that keeps most.
std::optional<Answered> by_survivors(const Evidence& evidence) {
  std::optional<size_t> fastest;
  double most = 0;
  for (size_t i = 0; i < evidence.lines.size(); ++i) {
    const HeldLine& line = evidence.lines[i];
    if (line.kernel_cache || line.born.empty()) continue;
    const auto kept =
        keeps_on(line.born, evidence.epochs, evidence.settled, evidence.steps, line.most_of_first);
    if (kept && kept->rate > most && kept->bytes >= matters_early * own_floor(evidence))
      fastest = i, most = kept->rate;
  }
  if (!fastest) return std::nullopt;
  return Answered{Answer::leak, goes_on_text(evidence.lines[*fastest]), fastest};
}

// A line that starts processes which stay.
std::optional<Answered> by_processes(const Evidence& evidence) {
  for (size_t i = 0; i < evidence.lines.size(); ++i) {
    const HeldLine& line = evidence.lines[i];
    if (line.processes_kept && line.grown >= matters * own_floor(evidence))
      return Answered{Answer::leak,
                      fmt::format("{} starts processes that stay, {} so far, which own {}", line.name,
                                  line.processes_kept, format_bytes(uint64_t(line.grown))),
                      i};
  }
  return std::nullopt;
}

// The first epoch against what came after it, for every line that grew in it. Where it is known when what is alive was
// allocated, that has told already whether the line leaks; its bytes alone rise and fall by chance.
std::optional<Answered> by_epochs(const Evidence& evidence) {
  if (!evidence.epochs.any()) return std::nullopt;
  const double begin = evidence.epochs.begin(), enough = certain * evidence.sample_bytes;
  const auto end = evidence.epochs.first_end();
  std::optional<size_t> filled;  // the line that gained most in the first epoch
  double most = 0;
  bool all_stopped = true, just_begun = false;
  for (size_t i = 0; i < evidence.lines.size(); ++i) {
    const HeldLine& line = evidence.lines[i];
    if (line.held.empty()) continue;
    const double last = line.held.back().time;
    const auto first = rise(line.held, begin, end.value_or(last));
    if (!first || first->bytes < enough) continue;
    if (!filled || first->bytes > most) filled = i, most = first->bytes;
    const auto later = end ? rise(line.held, *end, last) : std::nullopt;
    if (!later || last < *evidence.epochs.tells_at()) {
      just_begun = true;
      continue;
    }
    all_stopped = all_stopped && later->rate < has_stopped * first->rate;
    if (!line.kernel_cache && !line.replaced && line.born.empty() && later->rate >= goes_on * first->rate &&
        later->bytes >= (line.none_freed ? certain_without_frees : certain) * evidence.sample_bytes &&
        first->bytes + later->bytes >= matters * own_floor(evidence))
      return Answered{Answer::leak, goes_on_text(line), i};
  }
  if (!filled || evidence.tree.kind == verdict::Kind::no_leak) return std::nullopt;
  const HeldLine& line = evidence.lines[*filled];
  const std::string& name = line.name;
  if (!end)
    return Answered{
        Answer::filling,
        fmt::format("{} holds more and more, but the first epoch is not over: it may keep one thing for each "
                    "sample; that will be known in the second epoch",
                    name),
        filled};
  if (just_begun)
    return Answered{Answer::filling,
                    fmt::format("{} grew during the first epoch, and the second has just begun", name),
                    filled};
  if (!all_stopped) return std::nullopt;
  const double last = line.held.back().time;
  if (evidence.tree.kind == verdict::Kind::undecided) {
    // Nothing but whole epochs tells more than the tree does, and only if nothing else has begun to grow.
    if (evidence.tree.growing ||
        std::any_of(evidence.lines.begin(), evidence.lines.end(),
                    [&](const HeldLine& other) { return other.rate > 0 && other.grown >= enough; }))
      return std::nullopt;
    if (evidence.epochs.second(last))
      return Answered{
          Answer::undecided,
          fmt::format("{} grew during the first epoch and has not since; the second is not over", name),
          filled};
  }
  const bool lets_go =
      low_water(line.held, *end, last).value_or(0) < low_water(line.held, begin, *end).value_or(0) + most / 2;
  return Answered{Answer::no_leak,
                  name + (lets_go ? " is filled during each epoch and let go of after it"
                                  : " filled up during the first epoch and stopped"),
                  filled};
}

double lasted(const HeldLine& line) { return line.held.empty() ? 0 : line.held.back().time - line.onset; }

// Whether a line gains ever more rarely, as a cache does that meets fewer and fewer new keys: a staircase without noise, in
// which the verdict on a series sees a rise.
bool gains_become_rare(const HeldLine& line, double sample_bytes) {
  std::vector<double> gains;
  double most = 0;
  for (const verdict::Sample& sample : line.held) {
    if (sample.bytes < most + sample_bytes / 16) continue;
    most = sample.bytes;
    gains.push_back(sample.time);
  }
  return gains.size() >= 8 &&
         trend(std::span(gains).subspan(1), gains.front(), line.held.back().time, 0) < rare;
}

// How a rate changes over a stretch of the program's progress, as a part of its mean, with the standard error as the looks
// themselves show it: what is gained in bursts says less.
struct Change {
  double value = 0, error = 0;
};
std::optional<Change> change_of_rate(std::span<const verdict::Sample> held,
                                     std::span<const verdict::StepMark> steps) {
  constexpr size_t least_looks = 12;
  if (held.size() <= least_looks) return std::nullopt;
  const double begin = progress_at(held.front().time, steps),
               length = progress_at(held.back().time, steps) - begin,
               gained = held.back().bytes - held.front().bytes;
  if (length <= 0 || gained <= 0) return std::nullopt;
  struct Look {
    double place, part, gain;  // -1/2..1/2, of the progress, of all that was gained
  };
  std::vector<Look> looks;
  double last = 0, sum = 0, spread = 0;
  for (size_t i = 1; i < held.size(); ++i) {
    const double now = (progress_at(held[i].time, steps) - begin) / length;
    looks.push_back({(last + now - 1) / 2, now - last, (held[i].bytes - held[i - 1].bytes) / gained});
    sum += looks.back().gain * looks.back().place;
    spread += looks.back().part * looks.back().place * looks.back().place;
    last = now;
  }
  Change change{sum / spread, 0};
  for (const Look& look : looks) {
    const double off = look.place * (look.gain - look.part * (1 + change.value * look.place));
    change.error += off * off;
  }
  change.error = std::sqrt(change.error) / spread;
  return change;
}

// Whether a line gains less and less since the program started up: at the end less than half of its mean rate, beyond
// chance, and not only because it was filled at first.
bool gains_less_and_less(const HeldLine& line, const Evidence& evidence) {
  constexpr double halved = -1, still = -0.6;
  const auto steps = evidence.tree.by_steps ? evidence.steps : std::span<const verdict::StepMark>();
  const auto held = line.held;
  size_t first = 0;
  const double from = steps.empty() ? evidence.tree.judged_from : steps.front().time;
  while (first < held.size() && held[first].time < from) ++first;
  const auto judged = held.subspan(first);
  const auto all = change_of_rate(judged, steps),
             later = change_of_rate(judged.subspan(judged.size() / 4), steps);
  return all && later && all->value < halved && all->value < rare * all->error && later->value < still;
}

// How fast a line grows, in bytes a second. Where its own series tells nothing, what it gained while the tree grew counts,
// if that is a good part of it and went on to the end.
double pace(const HeldLine& line, const verdict::Verdict& tree) {
  if (line.rate > 0 || line.kernel_cache || line.replaced || line.held.empty()) return line.rate;
  const double last = line.held.back().time, from = std::max(tree.onset, line.held.front().time),
               growth = tree.floor_end - tree.floor_start;
  const auto all = rise(line.held, from, last), later = rise(line.held, (from + last) / 2, last);
  return growth > 0 && all && later && all->bytes >= good_part * growth && later->rate >= goes_on * all->rate
             ? all->rate
             : 0;
}

// The tree leaks: the fastest line is to blame, unless it gains less and less.
Answered by_tree(const Evidence& evidence) {
  std::optional<size_t> fastest;
  double most = 0;
  for (size_t i = 0; i < evidence.lines.size(); ++i)
    if (const double own = pace(evidence.lines[i], evidence.tree); own > most) fastest = i, most = own;
  if (!fastest)
    return {Answer::leak,
            evidence.lines.empty()
                ? "the memory of the tree grows; which line holds it is not known"
                : "the memory of the tree grows, but no line of the program that was seen does"};
  const HeldLine& line = evidence.lines[*fastest];
  if (gains_less_and_less(line, evidence))
    return {
        Answer::filling,
        fmt::format("{} gains less and less, as a cache does that meets fewer and fewer new keys; a longer "
                    "run will tell whether it stops",
                    line.name),
        fastest};
  return {Answer::leak, line.name + " holds more and more", fastest};
}

// A line on its own is less noisy than the tree: it may be known to leak while the tree is not.
std::optional<Answered> by_lines(const Evidence& evidence) {
  for (size_t i = 0; i < evidence.lines.size(); ++i) {
    const HeldLine& line = evidence.lines[i];
    if (!line.kernel_cache && line.kind == verdict::Kind::leak && line.rate > 0 &&
        line.grown >= certain * evidence.sample_bytes && line.grown >= matters * own_floor(evidence) &&
        lasted(line) >= evidence.patience && !gains_become_rare(line, evidence.sample_bytes) &&
        !gains_less_and_less(line, evidence))
      return Answered{Answer::leak, line.name + " holds more and more", i};
  }
  return std::nullopt;
}

// What was called while the program ran and still grows.
std::optional<Answered> by_earlier_call(const Evidence& evidence) {
  for (size_t i = 0; i < evidence.lines.size(); ++i)
    if (evidence.lines[i].name == evidence.called && evidence.lines[i].rate > 0)
      return Answered{Answer::leak, goes_on_text(evidence.lines[i]), i};
  return std::nullopt;
}

// What has gained most so far, where that is more than chance.
Answered too_little(const Evidence& evidence) {
  Answered answered{Answer::undecided, "too little was seen to tell"};
  double most = std::max(certain * evidence.sample_bytes, matters * own_floor(evidence));
  for (size_t i = 0; i < evidence.lines.size(); ++i) {
    const HeldLine& line = evidence.lines[i];
    if (line.replaced || line.held.empty() || line.grown < most) continue;
    const auto gained = rise(line.held, line.held.front().time, line.held.back().time);
    if (!gained || gained->bytes < line.grown / 2) continue;
    most = line.grown, answered.line = i;
  }
  if (answered.line)
    answered.reason += fmt::format("; so far {} has gained {}", evidence.lines[*answered.line].name,
                                   format_bytes(uint64_t(most)));
  return answered;
}

// Most of the growth is a cache with a bound.
std::optional<Answered> by_shapes(const Evidence& evidence) {
  double cached = 0;
  std::optional<size_t> most;
  for (size_t i = 0; i < evidence.lines.size(); ++i) {
    if (!evidence.lines[i].kernel_cache || evidence.lines[i].rate <= 0) continue;
    cached += evidence.lines[i].rate;
    if (!most) most = i;
  }
  if (!most || cached < 0.5 * evidence.live_rate) return std::nullopt;
  return Answered{
      Answer::filling,
      fmt::format(
          "most of the growth is at {}, where oneDNN keeps a compiled kernel for each new shape of input, "
          "1,024 at most",
          evidence.lines[*most].name),
      most};
}

}  // namespace

const char* answer_name(Answer answer) {
  switch (answer) {
    case Answer::leak:
      return "leak";
    case Answer::filling:
      return "filling";
    case Answer::retained:
      return "retained";
    case Answer::no_leak:
      return "no-leak";
    case Answer::undecided:
      break;
  }
  return "undecided";
}

HeldMemory held_memory(const heap::MemoryClasses& classes, uint64_t live_footprint) {
  HeldMemory memory;
  // Memory that was asked for and never touched is not there.
  memory.live_heap = std::min(live_footprint, classes.anonymous);
  memory.retained = classes.anonymous - memory.live_heap;
  memory.mapped_file = classes.file;
  memory.shared = classes.shared;
  memory.stack = classes.stack;
  memory.other = classes.other;
  memory.pss = classes.sum();
  return memory;
}

uint64_t untouched(const heap::MemoryClasses& classes, uint64_t asked_for) {
  const uint64_t there = classes.anonymous + classes.shared;
  return asked_for > there ? asked_for - there : 0;
}

const HeldMemory& held_least(std::span<const MemoryReading> readings, double until) {
  constexpr size_t several = 5;
  size_t end = readings.size();
  while (end > 1 && readings[end - 1].first > until) --end;
  const auto last = readings.first(end).last(std::min(end, several));
  return std::min_element(last.begin(), last.end(),
                          [](const MemoryReading& a, const MemoryReading& b) {
                            return a.second.live_heap < b.second.live_heap;
                          })
      ->second;
}

std::optional<double> Epochs::tells_at() const {
  return first_end_ ? std::optional(*first_end_ + next_epoch * (*first_end_ - begin_)) : std::nullopt;
}

void Epochs::see(int64_t number, double time) {
  if (!first_) {
    first_ = number;
    begin_ = time;
  } else if (number != *first_ && !first_end_) {
    first_end_ = time;
  }
}

Answered answer(const Evidence& evidence) {
  if (evidence.tree.kind == verdict::Kind::leak && kept_share(evidence) > 0.6 &&
      evidence.live_rate < 0.4 * evidence.tree.rate) {
    // What is lost may keep the allocator from using the space around it again.
    for (auto told :
         {by_survivors(evidence), by_epochs(evidence), by_lines(evidence), by_earlier_call(evidence)}) {
      if (!told || told->answer != Answer::leak) continue;
      told->reason +=
          fmt::format("; {:.0f} % of the growth was freed and is kept by the allocator between what it holds",
                      100 * std::min(1.0, kept_share(evidence)));
      return *told;
    }
    return {
        Answer::retained,
        fmt::format(
            "{:.0f} % of the growth was freed by the program and is kept by the allocator; malloc_trim(0) "
            "would return up to {}, and fewer arenas (MALLOC_ARENA_MAX=2) keep it from coming back",
            100 * std::min(1.0, kept_share(evidence)), format_bytes(evidence.now->retained))};
  }
  if (auto told = by_survivors(evidence)) return *told;
  // What grows where no line was seen is neither filled nor freed by the lines that were.
  if (evidence.tree.kind == verdict::Kind::leak && share_of(evidence, &HeldMemory::unprofiled) > 0.5)
    return {Answer::leak,
            "the memory of the tree grows, most of it in processes without a heap file; which line holds it "
            "is not known"};
  if (evidence.tree.kind == verdict::Kind::leak && evidence.live_rate < 0.4 * evidence.tree.rate &&
      share_of(evidence, &HeldMemory::unprofiled) + share_of(evidence, &HeldMemory::unseen) > 0.5)
    return {Answer::leak,
            "the memory of the tree grows, most of it memory that the program did not ask malloc for, as the "
            "heap of V8 or Go; which line holds it is not known"};
  // While it runs the first epoch may still be starting up.
  if (evidence.tree.kind != verdict::Kind::no_leak &&
      (evidence.patience == 0 ||
       (evidence.epochs.first_end() && evidence.settled > *evidence.epochs.first_end())))
    if (auto told = by_processes(evidence)) return *told;
  if (auto told = by_epochs(evidence)) return *told;
  if (evidence.tree.kind != verdict::Kind::leak)
    if (auto told = by_lines(evidence)) return *told;
  if (evidence.tree.kind != verdict::Kind::no_leak)
    if (auto told = by_shapes(evidence)) return *told;
  switch (evidence.tree.kind) {
    case verdict::Kind::no_leak:
      return {Answer::no_leak, "the memory of the tree does not grow without end"};
    case verdict::Kind::leak:
      return by_tree(evidence);
    case verdict::Kind::undecided:
      break;
  }
  return too_little(evidence);
}

}  // namespace plimsoll::diagnose
