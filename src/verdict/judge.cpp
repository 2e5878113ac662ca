// From a compact series to a verdict: floors at two resolutions, the comparison of shapes on each, and the
// decision.
#include <algorithm>
#include <cmath>

#include "verdict/floor.hpp"
#include "verdict/judge_compact.hpp"
#include "verdict/sentence.hpp"
#include "verdict/stretch.hpp"

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

constexpr double margin =
    1.5;  // of the growth that is found to be seen: another run is not quite like this one

constexpr size_t least_rising = 8;        // points of the floor to read a rate off
constexpr double least_rate_error = .03;  // of the rate: what is held at the end of a step varies
constexpr double second_epoch = .3;       // of the first one's length, in which growth must have gone on

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

Look look(const Stretch& stretch, double period, size_t most, Caution caution) {
  return look(floor_points(stretch.buckets, period, most), stretch.begin(), stretch.end() - stretch.begin(),
              caution);
}

double median_of(std::span<const FloorPoint> points) {
  std::vector<double> bytes;
  for (const FloorPoint& p : points) bytes.push_back(p.bytes);
  std::nth_element(bytes.begin(), bytes.begin() + long(bytes.size() / 2), bytes.end());
  return bytes[bytes.size() / 2];
}

bool is_leak(const Comparison& c, const Options& options) {
  return c.evidence > options.evidence && c.leak.rise > 2 * c.leak.rise_error &&
         c.leak.rise >= options.matter_fraction;
}

// The least growth over the stretch, as a share of the base, that would have been called a leak: found by adding it.
double would_be_seen(const Look& seen, double start, double span, const Options& options, double least) {
  double growth = std::max(least, 1.1 * options.matter_fraction);
  for (; growth < 4; growth *= 1.3) {
    std::vector<FloorPoint> points = seen.points;
    for (FloorPoint& p : points) p.bytes += growth * seen.base * (p.time - start) / span;
    if (is_leak(look(std::move(points), start, span, Caution::whole_series).comparison, options)) break;
  }
  return margin * growth;
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
      if (points[j].time > points[i].time)
        slopes.push_back((points[j].bytes - points[i].bytes) / (points[j].time - points[i].time));
  if (slopes.empty()) return {};
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

std::vector<FloorPoint> in_time(std::vector<FloorPoint> floor, const Stretch& stretch) {
  for (FloorPoint& point : floor) point.time = stretch.to_time(point.time);
  return floor;
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
  const Stretch stretch = judged_stretch(series, options);
  const double start = stretch.begin(), span = stretch.end() - start;
  const double period = dominant_period(stretch.buckets);
  v.period = period * stretch.pace_since(start);
  // Along steps growth that slows can be told from growth in a program that slows.
  const Caution shapes = stretch.work.known() ? Caution::whole_series : caution;
  Look best = look(stretch, period, resolutions[0], shapes);
  const std::vector<FloorPoint> floor = best.points;
  if (floor.size() < least_points || !(span > 0)) {
    too_few(v, series);
    return finished();
  }
  v.by_steps = stretch.work.known();
  v.judged_from = stretch.first_time, v.judged_until = stretch.last_time;
  const size_t ends = std::max<size_t>(1, floor.size() / 12);
  v.floor_start = median_of(std::span(floor).first(ends));
  v.floor_end = median_of(std::span(floor).last(ends));
  v.onset = stretch.first_time;
  v.spikes = find_spikes(series.buckets(), in_time(floor, stretch), options.phases);
  if (!(best.base > 0)) {  // nothing but zeros
    v.kind = Kind::no_leak;
    v.explanation = "flat";
    return finished();
  }
  if (std::abs(best.comparison.evidence) < clear_cut) {
    Look coarse = look(stretch, period, resolutions[1], shapes);
    if (coarse.base > 0 && coarse.comparison.evidence > best.comparison.evidence) best = std::move(coarse);
  }

  const Comparison& c = best.comparison;
  v.evidence = c.evidence;
  v.confidence = 1 / (1 + std::exp(-c.evidence));
  const double onset = start + c.leak.onset * span;
  // From a share of the base over the stretch to bytes a step, or a second where steps are not known.
  const double unit = best.base / span;
  auto set_rate = [&](double rate, double low, double high, double since) {
    const double pace = stretch.pace_since(since);
    v.rate = rate * unit / pace, v.rate_low = low * unit / pace, v.rate_high = high * unit / pace;
    v.rate_per_step = stretch.work.known() ? std::optional(rate * unit) : std::nullopt;
    v.onset = stretch.to_time(since);
  };
  v.growing = rises_lately(floor, options.matter_fraction / 2 * best.base);
  v.ruled_out_rate =
      (std::max(0., c.steady.rise) + 2 * c.steady.rise_error) * unit / stretch.pace_since(start);
  v.step_unit = options.step_unit;
  // A first pass over the data may fill something for good: growth must have gone on for a part of the second.
  const double first_epoch = options.first_epoch_end.value_or(0) - stretch.first_time;
  v.may_end_with_epoch =
      first_epoch > 0 && stretch.last_time - *options.first_epoch_end < second_epoch * first_epoch;
  // The shapes decide whether it is a leak. Along steps, without head and tail, the rate itself is best read off the
  // floor: shapes that fit a little better may take a part of the rise for themselves.
  auto set_leak_rate = [&] {
    std::span<const FloorPoint> rising = floor;
    while (rising.size() > least_rising && rising.front().time < onset) rising = rising.subspan(1);
    const Slope slope = slope_of(rising);
    if (!stretch.work.known() || rising.size() < least_rising || !(slope.value > 0))
      return set_rate(c.rate, c.rate_low, c.rate_high, onset);
    const double error = std::max(3 * slope.error, least_rate_error * slope.value);
    // Where other shapes explain a part of the growth, it may as well have been the leak's: the slope since the start
    // lies in the interval too.
    const double whole = c.leak.shapes.empty() ? slope.value : std::max(0., slope_of(floor).value);
    set_rate(slope.value / unit, std::min(slope.value - error, whole) / unit,
             std::max(slope.value + error, whole) / unit, onset);
  };
  const bool may_end = v.may_end_with_epoch ||
                       (caution == Caution::while_running && (slows_down(floor) || flattens(floor, onset)));
  if (is_leak(c, options) && !may_end) {
    v.kind = Kind::leak;
    v.growing = true;
    v.explanation = describe(c.leak);
    set_leak_rate();
    // Up to the last sample.
    v.floor_end += v.rate * (stretch.last_time - stretch.to_time(floor[floor.size() - 1 - ends / 2].time));
    if (v.rate > 0 && v.limit_bytes > 0)
      v.seconds_to_limit = std::max(0., (v.limit_bytes - v.floor_end) / v.rate);
    return finished();
  }
  v.explanation = describe(c.benign);
  // Without a leak the rate is that of a rise over the whole run, which is what can be ruled out.
  set_rate(c.steady.rise, c.steady.rise - 2 * c.steady.rise_error, c.steady.rise + 2 * c.steady.rise_error,
           start);
  const double could_be = std::max(0., c.steady.rise) + 2 * c.steady.rise_error;
  const bool grows_now = v.growing && caution == Caution::while_running;
  if (!grows_now &&
      (could_be <= options.matter_fraction || (c.evidence < 1 && could_be <= ruled_out_fraction))) {
    v.kind = Kind::no_leak;
    if (caution == Caution::whole_series)
      v.ruled_out_rate =
          would_be_seen(best, start, span, options, could_be) * unit / stretch.pace_since(start);
  } else {
    // What grows now is told by its own rate, whether or not it will end.
    if (v.growing && c.rate > 0) {
      set_leak_rate();
      if (v.limit_bytes > 0) v.seconds_to_limit = std::max(0., (v.limit_bytes - v.floor_end) / v.rate);
    }
    // The error of a slope falls with the 3/2 power of time; evidence grows about as fast.
    const double lack = std::max(could_be / ruled_out_fraction, options.evidence / std::max(c.evidence, .8));
    v.needs_seconds =
        (stretch.last_time - stretch.first_time) * std::clamp(std::pow(lack, 2. / 3) - 1, .15, 3.);
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
