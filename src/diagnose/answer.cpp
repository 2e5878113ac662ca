#include "diagnose/answer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.hpp"

namespace plimsoll::diagnose {
namespace {

// Least-squares slope of the samples in [from, until], bytes a second; 0 where there are too few.
double slope(std::span<const verdict::Sample> samples, double from, double until) {
  double n = 0, t = 0, b = 0, tt = 0, tb = 0;
  for (const verdict::Sample& sample : samples) {
    if (sample.time < from || sample.time > until) continue;
    const double x = sample.time - from;
    n += 1, t += x, b += sample.bytes, tt += x * x, tb += x * sample.bytes;
  }
  const double spread = n * tt - t * t;
  return n < 3 || spread <= 0 ? 0 : (n * tb - t * b) / spread;
}

double grown(uint64_t now, uint64_t then) { return now > then ? double(now - then) : 0.0; }

// What part of the growth the allocator keeps.
double kept_share(const Evidence& evidence) {
  if (!evidence.before || !evidence.now) return 0;
  const double all = grown(evidence.now->pss, evidence.before->pss);
  return all > 0 ? grown(evidence.now->retained, evidence.before->retained) / all : 0;
}

// The first epoch against what came after it, on the line that gained most.
std::optional<Answered> by_epochs(const Evidence& evidence) {
  if (!evidence.epochs.any() || evidence.held.size() < 3) return std::nullopt;
  const double last = evidence.held.back().time, begin = evidence.epochs.begin();
  const auto end = evidence.epochs.first_end();
  const double first = slope(evidence.held, begin, end.value_or(last));
  if (first <= 0) return std::nullopt;
  if (!end)
    return Answered{
        Answer::filling,
        fmt::format("{} holds more and more, but the first epoch is not over: it may keep one thing for each "
                    "sample; that will be known in the second epoch",
                    evidence.line)};
  // A quarter of an epoch is enough to see whether it goes on at the same rate.
  if (last - *end < 0.25 * (*end - begin))
    return Answered{
        Answer::filling,
        fmt::format("{} grew during the first epoch, and the second has just begun", evidence.line)};
  if (slope(evidence.held, *end, last) < 0.2 * first)
    return Answered{Answer::no_leak,
                    fmt::format("{} filled up during the first epoch and stopped", evidence.line)};
  return std::nullopt;
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
      evidence.live_rate < 0.4 * evidence.tree.rate)
    return {
        Answer::retained,
        fmt::format(
            "{:.0f} % of the growth was freed by the program and is kept by the allocator; malloc_trim(0) "
            "would return up to {}, and fewer arenas (MALLOC_ARENA_MAX=2) keep it from coming back",
            100 * std::min(1.0, kept_share(evidence)), format_bytes(evidence.now->retained))};
  if (evidence.tree.kind != verdict::Kind::no_leak)
    if (auto told = by_epochs(evidence)) return *told;
  switch (evidence.tree.kind) {
    case verdict::Kind::no_leak:
      return {Answer::no_leak, "the memory of the tree does not grow without end"};
    case verdict::Kind::leak:
      return {Answer::leak,
              evidence.live_rate > 0 && !evidence.line.empty()
                  ? evidence.line + " holds more and more"
                  : "the memory of the tree grows, but no line of the program that was seen does"};
    case verdict::Kind::undecided:
      break;
  }
  return {Answer::undecided, "too little was seen to tell"};
}

}  // namespace plimsoll::diagnose
