// Scores the verdict and simpler rules on generated series with a known truth: `verdict_score [series per
// shape] [development|held-out|both] [first seed] [final]`, or on recorded runs of real programs: `verdict_score
// --recorded FILE [--verbose] [--final] [--patience SECONDS]`. With `final` only the final verdict of ours is looked at.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "verdict/generator.hpp"
#include "verdict/recorded_score.hpp"
#include "verdict/rival_rules.hpp"

namespace plimsoll::verdict {
namespace {

struct Outcome {
  bool leak = false;
  double rate = 0;
  std::optional<double> first_leak;
  double low = 0, high = 0;
};

bool final_only = false;

using Method = std::function<Outcome(std::span<const Sample>)>;

Outcome ours(std::span<const Sample> samples) {
  Verdict v = judge(samples);
  OnlineVerdict online;
  if (!final_only)
    for (const Sample& s : samples) online.add(s);
  return {v.kind == Kind::leak, v.rate, online.first_leak(), v.rate_low, v.rate_high};
}

// A rival looks at the same geometric times, and two looks in a row count, as with ours.
Method rival(RivalRule rule) {
  return [rule](std::span<const Sample> samples) {
    RivalAnswer last = rule(samples);
    Outcome out{last.leak, last.rate, std::nullopt, 0, 0};
    bool before = false;
    for (double n = 40; size_t(n) <= samples.size() && !out.first_leak; n *= 1.12) {
      bool now = rule(samples.first(size_t(n))).leak;
      if (now && before) out.first_leak = samples[size_t(n) - 1].time;
      before = now;
    }
    return out;
  };
}

struct Share {
  int hits = 0, all = 0;
  void count(bool hit) { hits += hit, ++all; }
  double value() const { return all ? double(hits) / all : 0; }
};

double median(std::vector<double> x) {
  if (x.empty()) return NAN;
  std::nth_element(x.begin(), x.begin() + long(x.size() / 2), x.end());
  return x[x.size() / 2];
}

// Growth of the leak as a share of the base.
const char* growth_class(double growth) {
  return growth < .05 ? "below 5 %" : growth < .1 ? "5-10 %" : growth < .2 ? "10-20 %" : "20 % and more";
}

void score(const std::string& name, const Method& method, uint64_t first, int each, Ranges ranges,
           bool by_shape) {
  Share covered, false_final, false_online, false_online_filling, found_online, ten;
  std::map<std::string, Share> classes, shapes_final, shapes_online;
  std::vector<double> delays, errors;
  for (const std::string& shape : benign_shapes())
    for (int i = 0; i < each; ++i) {
      Outcome out = method(generate(shape, first + uint64_t(i), ranges).samples);
      false_final.count(out.leak), false_online.count(out.first_leak.has_value());
      if (!shape.starts_with("cache that fills")) false_online_filling.count(out.first_leak.has_value());
      shapes_final[shape].count(out.leak), shapes_online[shape].count(out.first_leak.has_value());
    }
  for (const std::string& shape : leaking_shapes())
    for (int i = 0; i < each; ++i) {
      GeneratedSeries series = generate(shape, first + uint64_t(i), ranges);
      Outcome out = method(series.samples);
      const Truth& truth = series.truth;
      classes[growth_class(truth.growth)].count(out.leak);
      if (truth.growth >= .05) {
        shapes_final[shape].count(out.leak), shapes_online[shape].count(out.first_leak.has_value());
        found_online.count(out.first_leak.has_value());
        if (out.first_leak)
          delays.push_back(std::max(0., (*out.first_leak - truth.onset) / (truth.end - truth.onset)));
      }
      if (truth.growth >= .1) ten.count(out.leak);
      if (out.leak) {
        errors.push_back(std::abs(out.rate / truth.rate - 1));
        covered.count(out.low <= truth.rate && truth.rate <= out.high);
      }
    }
  fmt::print(
      "| {} | {:.3f} | {:.3f} | {:.3f} | {:.3f} | {:.3f} | {:.3f} ({:.3f}) | {:.2f} | {:.2f} | {:.1f} % | "
      "{:.3f} |\n",
      name, false_final.value(), ten.value(), classes["5-10 %"].value(), classes["20 % and more"].value(),
      classes["below 5 %"].value(), false_online.value(), false_online_filling.value(), found_online.value(),
      median(delays), 100 * median(errors), covered.value());
  std::fflush(stdout);
  if (!by_shape) return;
  fmt::print("\n| shape | called a leak at the end | at any time while running |\n|---|---|---|\n");
  for (auto* shapes : {&benign_shapes(), &leaking_shapes()})
    for (const std::string& shape : *shapes)
      fmt::print("| {}{} | {:.2f} | {:.2f} |\n", shapes == &leaking_shapes() ? "leak " : "", shape,
                 shapes_final[shape].value(), shapes_online[shape].value());
}

}  // namespace
}  // namespace plimsoll::verdict

int main(int argc, char** argv) {
  using namespace plimsoll::verdict;
  if (argc > 2 && std::string(argv[1]) == "--recorded") {
    RecordedOptions options;
    for (int i = 3; i < argc; ++i) {
      const std::string flag = argv[i];
      options.verbose |= flag == "--verbose";
      options.final_only |= flag == "--final";
      if (flag == "--patience" && i + 1 < argc) options.patience = std::atof(argv[++i]);
    }
    score_recorded(argv[2], options);
    return 0;
  }
  const int each = argc > 1 ? std::max(1, std::atoi(argv[1])) : 30;
  const uint64_t first = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0;
  final_only = argc > 4 && std::string(argv[4]) == "final";
  for (Ranges ranges : {Ranges::development, Ranges::held_out}) {
    const char* name = ranges == Ranges::development ? "development" : "held-out";
    if (argc > 2 && std::string(argv[2]) != name && std::string(argv[2]) != "both") continue;
    fmt::print("\n{} ranges, {} series of {} benign and {} leaking shapes\n\n", name,
               each * int(benign_shapes().size() + leaking_shapes().size()), benign_shapes().size(),
               leaking_shapes().size());
    fmt::print(
        "| rule | FPR | TPR growth >= 10 % | 5-10 % | >= 20 % | < 5 % | any alarm while running on benign "
        "(without linear fills) | leaks "
        "called while running | median delay, of the leak's duration | median rate error | intervals that "
        "hold the rate |\n|---|---|---|---|---|---|---|---|---|---|---|\n");
    if (!final_only) {
      score("minimum of 10, +100 MB", rival(minimum_rule_absolute), first, each, ranges, false);
      score("minimum of 10, +5 %", rival(minimum_rule_relative), first, each, ranges, false);
      score("least squares", rival(least_squares), first, each, ranges, false);
      score("Mann-Kendall + Theil-Sen", rival(mann_kendall), first, each, ranges, false);
    }
    score("plimsoll", ours, first, each, ranges, true);
  }
}
