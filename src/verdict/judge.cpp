// From a compact series to a verdict: floors at two resolutions, the comparison of shapes on each, and the
// decision.
#include <algorithm>
#include <cmath>

#include "verdict/floor.hpp"
#include "verdict/judge_compact.hpp"
#include "verdict/sentence.hpp"

namespace plimsoll::verdict {
namespace {

constexpr size_t least_samples = 20, least_points = 6;
constexpr size_t resolutions[] = {36, 18};  // points of the floor, at most
constexpr double clear_cut = 8;             // evidence beyond which the second look cannot matter
constexpr double least_noise = 3e-4;        // of the base: what counters and page rounding do
constexpr double shape_tolerance =
    0.003;  // of the floor's range: how closely real shapes follow the library's
constexpr double ruled_out_fraction =
    0.10;  // no-leak asks that growth above this share of the floor is ruled out

struct Look {
  std::vector<FloorPoint> points;
  Comparison comparison;
  double base = 0;
};

// Compares the shapes over `points`, which lie between `start` and `start + span`.
Look look(std::vector<FloorPoint> points, double start, double span, Caution caution) {
  Look out;
  out.points = std::move(points);
  if (out.points.size() < least_points) return out;
  std::vector<double> sorted;
  for (const FloorPoint& p : out.points) sorted.push_back(p.bytes);
  std::sort(sorted.begin(), sorted.end());
  out.base = sorted[sorted.size() / 2] > 0 ? sorted[sorted.size() / 2] : sorted.back();
  if (!(out.base > 0)) return out;
  std::vector<double> u, z;
  for (const FloorPoint& p : out.points) {
    u.push_back((p.time - start) / span);
    z.push_back(p.bytes / out.base - 1);
  }
  const double range = (sorted.back() - sorted.front()) / out.base;
  out.comparison =
      ShapeLibrary(std::move(u), caution).compare(z, std::max(least_noise, shape_tolerance * range));
  return out;
}

Look look(const CompactSeries& series, double period, size_t most, Caution caution) {
  return look(floor_points(series.buckets(), period, most), series.first_time(),
              series.last_time() - series.first_time(), caution);
}

double median_of(std::span<const FloorPoint> points) {
  std::vector<double> bytes;
  for (const FloorPoint& p : points) bytes.push_back(p.bytes);
  std::nth_element(bytes.begin(), bytes.begin() + long(bytes.size() / 2), bytes.end());
  return bytes[bytes.size() / 2];
}

// Does the later half of the floor rise, by Mann and Kendall's count of rising pairs? A hint, not a verdict.
bool rises_lately(std::span<const FloorPoint> points, double matters) {
  points = points.subspan(points.size() / 2);
  const double n = double(points.size());
  double pairs = 0;
  for (size_t i = 0; i < points.size(); ++i)
    for (size_t j = i + 1; j < points.size(); ++j)
      pairs += points[j].bytes > points[i].bytes ? 1 : points[j].bytes < points[i].bytes ? -1 : 0;
  const double deviation = std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
  const size_t third = std::max<size_t>(1, points.size() / 3);
  return deviation > 0 && pairs / deviation > 2.3 &&
         median_of(points.last(third)) - median_of(points.first(third)) > matters;
}

struct Slope {
  double value = 0, error = 0;
};

// Theil's and Sen's slope, with the error of a straight line through noise of the residuals' spread.
Slope slope_of(std::span<const FloorPoint> points) {
  std::vector<double> slopes, away;
  for (size_t i = 0; i < points.size(); ++i)
    for (size_t j = i + 1; j < points.size(); ++j)
      slopes.push_back((points[j].bytes - points[i].bytes) / (points[j].time - points[i].time));
  auto middle = [](std::vector<double>& x) {
    std::nth_element(x.begin(), x.begin() + long(x.size() / 2), x.end());
    return x[x.size() / 2];
  };
  Slope out{middle(slopes), 0};
  std::vector<double> level;
  for (const FloorPoint& p : points) level.push_back(p.bytes - out.value * p.time);
  std::vector<double> copy = level;
  const double centre = middle(copy), n = double(points.size());
  for (double x : level) away.push_back(std::abs(x - centre));
  const double spread = 1.5 * middle(away), length = points.back().time - points.front().time;
  out.error = 1.3 * spread * std::sqrt(12 / n) / length;  // 1.3: neighbours are alike
  return out;
}

// Is the growth of the last third clearly slower than that of the middle third? Then it may well end.
bool slows_down(std::span<const FloorPoint> points) {
  const size_t third = points.size() / 3;
  if (third < 5) return false;
  const Slope middle = slope_of(points.subspan(points.size() - 2 * third, third)),
              last = slope_of(points.last(third));
  return middle.value - last.value > 2 * std::hypot(middle.error, last.error) &&
         last.value < .95 * middle.value;
}

// Has the growth since `from` lost much of its pace? Then, too, it may end.
bool flattens(std::span<const FloorPoint> points, double from) {
  while (!points.empty() && points.front().time < from) points = points.subspan(1);
  const size_t half = points.size() / 2;
  return half >= 4 && slope_of(points.last(half)).value < .7 * slope_of(points.first(half)).value;
}

double step_at(std::span<const StepMark> marks, double time) {
  const auto after = std::upper_bound(marks.begin() + 1, marks.end() - 1, time,
                                      [](double t, const StepMark& mark) { return t < mark.time; });
  const StepMark &a = *(after - 1), &b = *after;
  return a.step + (b.step - a.step) * (time - a.time) / (b.time - a.time);
}

// A program that leaks by the step and changes its speed does not grow evenly over time, so a leak is fitted
// anew with steps for time; where they tell nothing, the mean speed turns one rate into the other.
std::optional<double> rate_per_step(const Verdict& v, std::span<const FloorPoint> floor,
                                    std::span<const StepMark> marks, Caution caution) {
  if (marks.size() < 2) return std::nullopt;
  const StepMark &first = marks.front(), &last = marks.back();
  if (!(last.time > first.time && last.step > first.step)) return std::nullopt;
  std::vector<FloorPoint> by_step;
  for (const FloorPoint& p : floor) {
    if (p.time < first.time || p.time > last.time) continue;
    const double step = step_at(marks, p.time);
    if (by_step.empty() || step > by_step.back().time) by_step.push_back({step, p.bytes});
  }
  if (v.kind == Kind::leak && 2 * by_step.size() > floor.size()) {
    const double steps = last.step - first.step;
    const Look anew = look(std::move(by_step), first.step, steps, caution);
    const Fit& leak = anew.comparison.leak;
    if (anew.base > 0 && anew.comparison.evidence > 0 && leak.rise > 0)
      return leak.rise * anew.base / ((1 - leak.onset) * steps);
  }
  return v.rate * (last.time - first.time) / (last.step - first.step);
}

void too_few(Verdict& v, const CompactSeries& series) {
  if (v.samples < 2) return;
  const double interval = (series.last_time() - series.first_time()) / double(v.samples - 1);
  v.needs_seconds = interval * double(2 * least_samples - std::min(v.samples, least_samples));
  v.floor_start = v.floor_end = series.buckets().back().low();
  v.onset = series.first_time();
}

}  // namespace

Verdict judge_compact(const CompactSeries& series, const Options& options, Caution caution) {
  Verdict v;
  v.samples = series.samples();
  v.limit_bytes = options.limit_bytes;
  auto finished = [&]() -> Verdict& {
    v.sentence = sentence(v, v.samples > 0 ? series.first_time() : 0);
    return v;
  };
  if (v.samples < least_samples) {
    too_few(v, series);
    return finished();
  }
  const double start = series.first_time(), span = series.last_time() - start;
  v.period = dominant_period(series.buckets());
  Look best = look(series, v.period, resolutions[0], caution);
  const std::vector<FloorPoint> floor = best.points;
  if (floor.size() < least_points) {
    too_few(v, series);
    return finished();
  }
  const size_t ends = std::max<size_t>(1, floor.size() / 12);
  v.floor_start = median_of(std::span(floor).first(ends));
  v.floor_end = median_of(std::span(floor).last(ends));
  v.onset = start;
  v.spikes = find_spikes(series.buckets(), floor, options.phases);
  if (!(best.base > 0)) {  // nothing but zeros
    v.kind = Kind::no_leak;
    v.explanation = "flat";
    return finished();
  }
  if (std::abs(best.comparison.evidence) < clear_cut) {
    Look coarse = look(series, v.period, resolutions[1], caution);
    if (coarse.base > 0 && coarse.comparison.evidence > best.comparison.evidence) best = std::move(coarse);
  }

  const Comparison& c = best.comparison;
  v.evidence = c.evidence;
  v.confidence = 1 / (1 + std::exp(-c.evidence));
  const double lasted = (1 - c.leak.onset) * span;
  v.rate = c.leak.rise * best.base / lasted;
  v.rate_low = c.rate_low * best.base / span;
  v.rate_high = c.rate_high * best.base / span;
  v.onset = start + c.leak.onset * span;
  const bool significant = c.leak.rise > 2 * c.leak.rise_error;
  const bool matters = c.leak.rise >= options.matter_fraction;
  v.growing = rises_lately(floor, options.matter_fraction / 2 * best.base);
  v.ruled_out_rate = (std::max(0., c.steady.rise) + 2 * c.steady.rise_error) * best.base / span;
  const bool may_end = caution == Caution::while_running && (slows_down(floor) || flattens(floor, v.onset));
  if (c.evidence > options.evidence && significant && matters && !may_end) {
    v.kind = Kind::leak;
    v.growing = true;
    v.explanation = describe(c.leak);
    v.floor_end +=
        v.rate * (series.last_time() - floor[floor.size() - 1 - ends / 2].time);  // up to the last sample
    if (v.rate > 0 && v.limit_bytes > 0)
      v.seconds_to_limit = std::max(0., (v.limit_bytes - v.floor_end) / v.rate);
    v.rate_per_step = rate_per_step(v, floor, options.steps, caution);
    return finished();
  }
  v.explanation = describe(c.benign);
  // Without a leak the rate is that of a rise over the whole run, which is what can be ruled out.
  v.rate = c.steady.rise * best.base / span;
  v.rate_low = (c.steady.rise - 2 * c.steady.rise_error) * best.base / span;
  v.rate_high = (c.steady.rise + 2 * c.steady.rise_error) * best.base / span;
  v.onset = start;
  v.rate_per_step = rate_per_step(v, floor, options.steps, caution);
  const double could_be = v.ruled_out_rate * span / best.base;
  if (could_be <= options.matter_fraction || (c.evidence < 1 && could_be <= ruled_out_fraction)) {
    v.kind = Kind::no_leak;
  } else {
    // The error of a slope falls with the 3/2 power of time; evidence grows about as fast.
    const double lack = std::max(could_be / ruled_out_fraction, options.evidence / std::max(c.evidence, .8));
    v.needs_seconds = span * std::clamp(std::pow(lack, 2. / 3) - 1, .15, 3.);
  }
  return finished();
}

Verdict judge(std::span<const Sample> samples, const Options& options) {
  CompactSeries series;
  for (const Sample& s : cleaned(samples)) series.add(s);
  return judge_compact(series, options, Caution::whole_series);
}

const char* kind_name(Kind kind) {
  return kind == Kind::leak ? "leak" : kind == Kind::no_leak ? "no-leak" : "undecided";
}

}  // namespace plimsoll::verdict
