// The verdict while samples arrive: a compact series, evaluations at geometrically spaced times, a threshold
// that is high while there is little data, and patience with what may be a cache that is still filling.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "verdict/judge_compact.hpp"
#include "verdict/sentence.hpp"
#include "verdict/step_marks.hpp"

namespace plimsoll::verdict {
namespace {

constexpr size_t first_look = 40, first_call = 80;
constexpr double look_ratio = 1.12;
constexpr size_t looks_in_a_row = 3;
constexpr double least_evidence = 2.5;  // at each of them
constexpr double mean_evidence = 4;     // over all of them, once much has been seen
// With few samples a warm-up or a cache is still in its straight part; the bar comes down as the logarithm of
// their number.
constexpr double much = 1000, caution_while_little = 3;
constexpr double most_evidence = 15;  // one overwhelming look does not replace the others
// A cache that fills evenly and a leak are the same until the cache is full; no test tells them apart. So a
// rise must have lasted this many samples and, within bounds, half as long again as the calm before it,
// unless it would reach the line within as long as it has lasted.
// Where the program says how far it is, a first pass over the data is over by this share of its steps.
constexpr double far_enough = .4, long_enough = .6;
// Without steps more patience is needed, and growth from a level that had been reached before.
constexpr double with_total = 3, without_steps = 4. / 3, far_up = .67;
constexpr double least_patience = 1000, most_patience = 2000, longer_than_calm = 1.5;

double bar(size_t samples) {
  return mean_evidence + caution_while_little * std::max(0., std::log(much / double(samples)));
}

}  // namespace

struct OnlineVerdict::State {
  Options options;
  CompactSeries series;
  StepMarks marks;
  double progress = 0;  // share of the steps the program means to do; 0: not known
  Verdict current;
  size_t next_look = first_look;
  std::array<double, looks_in_a_row> evidence{};  // of the latest looks, 0 where one did not speak of a leak
  std::optional<double> first_leak;

  bool persists() const {
    const double sum = std::accumulate(evidence.begin(), evidence.end(), 0.);
    return series.samples() >= first_call && *std::min_element(evidence.begin(), evidence.end()) > 0 &&
           sum / double(looks_in_a_row) > bar(series.samples());
  }

  bool lasted_long_enough() const {
    const double lasted = series.last_time() - std::max(current.onset, current.judged_from),
                 rising = double(series.samples()) * lasted / (series.last_time() - series.first_time()),
                 calm = double(series.samples()) - rising;
    if (current.seconds_to_limit && *current.seconds_to_limit < lasted) return true;
    if (rising >= std::clamp(longer_than_calm * calm, least_patience, most_patience)) return true;
    if (options.first_epoch_end) return current.by_steps;  // the judgement waits for the second epoch
    if (current.by_steps && progress >= far_enough &&
        lasted >= long_enough * (series.last_time() - current.judged_from))
      return true;
    if (!(options.patience_seconds > 0)) return false;
    if (current.by_steps) return lasted >= (progress > 0 ? with_total : 1) * options.patience_seconds;
    // What has doubled may still be starting up, and a program whose steps have only begun has not shown its loop.
    const double told = marks.marks().empty() ? INFINITY : series.last_time() - marks.marks().front().time;
    return std::min(told, lasted) >= without_steps * options.patience_seconds &&
           current.floor_start >= far_up * current.floor_end;
  }

  // Geometric in what is judged: a long start-up does not delay the looks at what follows.
  size_t after_this() const {
    const double seen = double(series.samples()), all = series.last_time() - series.first_time(),
                 judged = all > 0 && current.judged_until > 0
                              ? seen * std::clamp((series.last_time() - current.judged_from) / all, 0., 1.)
                              : seen;
    return size_t(std::ceil(seen + std::max(double(first_look) / 4, (look_ratio - 1) * judged)));
  }

  void look() {
    Options lenient = options;
    lenient.evidence = least_evidence;
    lenient.steps = marks.marks();
    const bool was_leak = current.kind == Kind::leak;
    current = judge_compact(series, lenient, Caution::while_running);
    const bool speaks = current.kind == Kind::leak;
    std::rotate(evidence.begin(), evidence.begin() + 1, evidence.end());
    evidence.back() = speaks ? std::min(current.evidence, most_evidence) : 0;
    const bool called = speaks && (was_leak || (persists() && lasted_long_enough()));
    if (called && !first_leak) first_leak = series.last_time();
    if (!speaks || called) return;
    current.kind = Kind::undecided;
    current.ruled_out_rate = std::max(current.ruled_out_rate, current.rate_high);
    current.needs_seconds = (series.last_time() - series.first_time()) * .3;
    current.sentence = sentence(current, series.first_time());
  }
};

OnlineVerdict::OnlineVerdict(Options options) : state_(std::make_unique<State>()) {
  state_->options = options;
}
OnlineVerdict::~OnlineVerdict() = default;
OnlineVerdict::OnlineVerdict(OnlineVerdict&&) noexcept = default;
OnlineVerdict& OnlineVerdict::operator=(OnlineVerdict&&) noexcept = default;

void OnlineVerdict::add(Sample sample) {
  state_->series.add(sample);
  if (state_->series.samples() < state_->next_look) return;
  state_->look();
  state_->next_look = state_->after_this();
}

void OnlineVerdict::step(StepMark mark, double total) {
  state_->marks.see(mark.time, mark.step);
  state_->progress = total > 0 ? mark.step / total : 0;
}

void OnlineVerdict::limit(double bytes) { state_->options.limit_bytes = bytes; }
void OnlineVerdict::first_epoch_end(double seconds) { state_->options.first_epoch_end = seconds; }
void OnlineVerdict::loaded(double seconds) { state_->options.loaded = seconds; }

const Verdict& OnlineVerdict::current() const { return state_->current; }
std::optional<double> OnlineVerdict::first_leak() const { return state_->first_leak; }
Verdict OnlineVerdict::final_verdict() const {
  Options options = state_->options;
  if (options.steps.empty()) options.steps = state_->marks.marks();
  return judge_compact(state_->series, options, Caution::whole_series);
}

}  // namespace plimsoll::verdict
