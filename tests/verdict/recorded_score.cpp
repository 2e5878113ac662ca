#include "verdict/recorded_score.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "verdict/recordings.hpp"
#include "verdict/rival_rules.hpp"
#include "verdict/start_up.hpp"

namespace plimsoll::verdict {
namespace {

constexpr double worth_calling = .05;      // growth of the floor by the end
constexpr uint64_t first_fresh_seed = 11;  // recorded when the verdict was as it is
constexpr int logged_every = 25;           // steps a dictionary stands for

struct Share {
  int hits = 0, all = 0;
  void count(bool hit) { hits += hit, ++all; }
};
std::string text(const Share& share) {
  if (share.all == 0) return "";
  return fmt::format("{:.2f} ({} of {})", double(share.hits) / share.all, share.hits, share.all);
}

double median(std::vector<double> x) {
  if (x.empty()) return NAN;
  std::nth_element(x.begin(), x.begin() + long(x.size() / 2), x.end());
  return x[x.size() / 2];
}

struct Online {
  std::optional<double> first_leak;  // seconds
  Verdict after_a_third;
};

// Of the time in which something is lost: what has not begun cannot be seen.
double third_of(const Recording& run) { return run.onset() + (run.end() - run.onset()) / 3; }

Online replay(const Recording& run, double patience) {
  OnlineVerdict online({.limit_bytes = run.options().limit_bytes, .patience_seconds = patience});
  StartUp start_up;
  Online out;
  size_t step = 0;
  const double third = third_of(run);
  for (size_t i = 0; i < run.owned.size(); ++i) {
    const Sample& sample = run.owned[i];
    start_up.see(sample.time, run.mapped(i));
    online.loaded(start_up.seems_over(sample.time, run.owned.front().time));
    if (run.first_epoch_end && step > 0)
      online.first_epoch_end(*run.first_epoch_end <= sample.time ? *run.first_epoch_end : INFINITY);
    for (; step < run.steps.size() && run.steps[step].time <= sample.time; ++step)
      online.step(run.steps[step], run.total);
    online.add(sample);
    if (sample.time <= third) out.after_a_third = online.current();
  }
  out.first_leak = online.first_leak();
  return out;
}

// The clean run with a leak of the rate that its verdict says would have been seen.
bool injected_is_seen(const Recording& run, const Verdict& v) {
  std::vector<Sample> samples = run.owned;
  for (Sample& s : samples) s.bytes += v.ruled_out_rate * std::max(0., s.time - v.judged_from);
  return judge(samples, run.options()).kind == Kind::leak;
}

struct Score {
  Share injected, called, missed_as_clean, false_leak, cleared, covered, by_step, early, alarms, growing;
  std::vector<double> errors, step_errors;
};

void judge_one(const Recording& run, Score& score, const RecordedOptions& options) {
  const Verdict v = judge(run.owned, run.options());
  const Online online = options.final_only ? Online{} : replay(run, options.patience);
  const bool known = run.leaks, worth = run.growth() >= worth_calling;
  const double half = (run.onset() + run.end()) / 2, rate_then = run.rate(third_of(run));
  if (!run.leaks && !run.filling) {
    score.false_leak.count(v.kind == Kind::leak), score.cleared.count(v.kind == Kind::no_leak);
    if (v.kind == Kind::no_leak) score.injected.count(injected_is_seen(run, v));
    score.alarms.count(online.first_leak.has_value());
  } else if (run.leaks && worth) {
    score.called.count(v.kind == Kind::leak), score.missed_as_clean.count(v.kind == Kind::no_leak);
    score.early.count(online.first_leak && *online.first_leak <= half);
    const Verdict& third = online.after_a_third;
    if (known) score.growing.count(third.growing && std::abs(third.rate / rate_then - 1) <= .3);
  }
  if (known && worth && v.kind == Kind::leak) {
    score.errors.push_back(std::abs(v.rate / run.rate() - 1));
    score.covered.count(v.rate_low <= run.rate() && run.rate() <= v.rate_high);
    if (v.rate_per_step) {
      const double truth = run.rate_per_step() * (run.tell == "dictionary" ? logged_every : 1);
      score.step_errors.push_back(std::abs(*v.rate_per_step / truth - 1));
      score.by_step.count(score.step_errors.back() <= .08);
    }
  }
  if (!options.verbose) return;
  fmt::print(
      "{:<34} {:>3} {:<10} {:<4} {:<8} {:<9} ev {:>6.1f} grew {:>5.1f} % rate {:>8.1f} ({:>8.1f} .. "
      "{:>8.1f}) true {:>8.1f} "
      "kB/s ratio {:>5.2f} {} step {:>5.2f}  judged {:>3.0f}..{:>3.0f} loop {:>3.0f}..{:>3.0f} first "
      "{:>4.0f} third {}{:>6.2f} | {}\n",
      run.name, run.seed, run.tell, run.busy ? "busy" : "",
      run.leaks     ? "leak"
      : run.filling ? "fill"
                    : "no-leak",
      kind_name(v.kind), std::clamp(v.evidence, -99., 999.), 100 * run.growth(), v.rate / 1e3,
      v.rate_low / 1e3, v.rate_high / 1e3, known ? run.rate() / 1e3 : 0, known ? v.rate / run.rate() : 0,
      known ? v.rate_low <= run.rate() && run.rate() <= v.rate_high ? "in " : "OUT" : "   ",
      known && v.rate_per_step ? *v.rate_per_step / run.rate_per_step() : 0, v.judged_from, v.judged_until,
      run.begin(), run.end(), online.first_leak.value_or(-1), online.after_a_third.growing ? "g" : "-",
      known ? online.after_a_third.rate / rate_then : 0, v.explanation);
}

void row(const std::string& name, const Score& s) {
  fmt::print("| {} | {} | {} | {} | {} | {:.1f} % | {} | {} | {} | {} | {} | {} |\n", name, text(s.called),
             text(s.missed_as_clean), text(s.false_leak), text(s.cleared), 100 * median(s.errors),
             text(s.covered), text(s.by_step), text(s.early), text(s.alarms), text(s.growing),
             text(s.injected));
}

// A public rule has two answers only: what is no leak to it is called clean.
void score_rival(const std::string& name, RivalRule rule, const std::vector<Sample> Recording::*series,
                 double sign, const std::vector<Recording>& runs) {
  Score score;
  for (const Recording& run : runs) {
    std::vector<Sample> samples = run.*series;
    if (sign < 0)  // what is available falls as memory is used
      for (Sample& s : samples) s.bytes = 64e9 - s.bytes;
    const RivalAnswer answer = rule(samples);
    if (run.filling) continue;
    if (!run.leaks) {
      score.false_leak.count(answer.leak), score.cleared.count(!answer.leak);
    } else if (run.growth() >= worth_calling) {
      score.called.count(answer.leak), score.missed_as_clean.count(!answer.leak);
      if (answer.leak) score.errors.push_back(std::abs(answer.rate / run.rate() - 1));
    }
  }
  row(name, score);
}

}  // namespace

void score_recorded(const std::string& path, const RecordedOptions& options) {
  const std::vector<Recording> runs = read_recordings(path);
  Score developed, fresh;
  for (const Recording& run : runs) judge_one(run, run.seed < first_fresh_seed ? developed : fresh, options);
  fmt::print("\n{} recorded runs of real programs, leaks of 5 % of the floor or more\n\n", runs.size());
  fmt::print(
      "| rule | leaks called | leaks called no-leak | clean called leak | clean called no-leak | median rate "
      "error | intervals that hold the rate | bytes a step within 8 % | leaks called before half of the run "
      "| "
      "alarms while running on clean | after a third growing, rate within 30 % | added growth that is seen "
      "|\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  score_rival("first 10 against last 10, RSS, +100 MB", minimum_rule_absolute, &Recording::rss, 1, runs);
  score_rival("slope of RSS (least squares)", least_squares, &Recording::rss, 1, runs);
  score_rival("first 10 against last 10, system memory, +5 %", minimum_rule_relative, &Recording::available,
              -1, runs);
  row("plimsoll, runs used to develop it", developed);
  row("plimsoll, fresh runs", fresh);
}

}  // namespace plimsoll::verdict
