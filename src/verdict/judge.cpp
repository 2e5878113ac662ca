// From a compact series to a verdict: floors at two resolutions, the comparison of shapes on each, and the
// decision.
#include <algorithm>
#include <cmath>

#include "verdict/judge_compact.hpp"
#include "verdict/median.hpp"
#include "verdict/sentence.hpp"
#include "verdict/stretch.hpp"
#include "verdict/trend.hpp"

namespace plimsoll::verdict {
namespace {

constexpr size_t least_samples = 20, least_points = 6;
// Points of the floor, at most. The first two, which differ most, decide along steps and while a series goes on.
constexpr size_t resolutions[] = {36, 18, 30, 24, 13};
constexpr double clear_cut = 8;       // evidence beyond which a second look cannot matter there
constexpr double most_of_one = 15;    // of one resolution in a mean: it does not outvote the others
constexpr double clearer_by = 1.2;    // how much the clearer of two exceeds the mean of five, typically
constexpr double least_noise = 3e-4;  // of the base: what counters and page rounding do
constexpr double shape_tolerance =
    0.003;  // of the floor's range: how closely real shapes follow the library's
constexpr double ruled_out_fraction =
    0.10;  // no-leak asks that growth above this share of the floor is ruled out

constexpr double margin =
    1.5;  // of the growth that is found to be seen: another run is not quite like this one

constexpr double unexplained = .03;  // of the base: a rise late in a run that denies that there is no leak
constexpr size_t least_rising = 8;   // points of the floor to read a rate off
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

const Look& clearest(std::span<const Look> looks) {
  return *std::max_element(looks.begin(), looks.end(), [](const Look& a, const Look& b) {
    return a.comparison.evidence < b.comparison.evidence;
  });
}

// The floor with `growth` over the stretch, as a share of the base, added to it.
Look with_growth(const Look& seen, double growth, double start, double span) {
  std::vector<FloorPoint> points = seen.points;
  for (FloorPoint& p : points) p.bytes += growth * seen.base * (p.time - start) / span;
  return look(std::move(points), start, span, Caution::whole_series);
}

std::vector<FloorPoint> in_time(std::vector<FloorPoint> floor, const Stretch& stretch) {
  for (FloorPoint& point : floor) point.time = stretch.to_time(point.time);
  return floor;
}

// One judgement, from the series to everything but the sentence.
class Judging {
 public:
  Judging(const CompactSeries& series, const Options& options, Caution caution)
      : series_(series), options_(options), caution_(caution) {}

  Verdict judge() {
    v_.samples = series_.samples();
    v_.limit_bytes = options_.limit_bytes;
    if (v_.samples < least_samples || !see_floor())
      too_few();
    else if (!(best_.base > 0))  // nothing but zeros
      v_.kind = Kind::no_leak, v_.explanation = "flat";
    else
      decide();
    return std::move(v_);
  }

 private:
  void too_few() {
    if (v_.samples < 2) return;
    const double interval = (series_.last_time() - series_.first_time()) / double(v_.samples - 1);
    v_.needs_seconds = interval * double(2 * least_samples - std::min(v_.samples, least_samples));
    v_.floor_start = v_.floor_end = series_.buckets().back().low();
    v_.onset = series_.first_time();
  }

  // False where there is too little to see.
  bool see_floor() {
    stretch_ = judged_stretch(series_, options_);
    start_ = stretch_.begin(), span_ = stretch_.end() - start_;
    period_ = dominant_period(stretch_.buckets);
    v_.period = period_ * stretch_.pace_since(start_);
    looks_.push_back(
        look(floor_points(stretch_.buckets, period_, resolutions[0]), start_, span_, shape_caution()));
    best_ = looks_.front();
    floor_ = best_.points;
    if (floor_.size() < least_points || !(span_ > 0)) return false;
    v_.by_steps = stretch_.work.known();
    v_.judged_from = stretch_.first_time, v_.judged_until = stretch_.last_time;
    ends_ = std::max<size_t>(1, floor_.size() / 12);
    v_.floor_start = median_of(std::span(floor_).first(ends_));
    v_.floor_end = median_of(std::span(floor_).last(ends_));
    v_.onset = stretch_.first_time;
    v_.spikes = find_spikes(series_.buckets(), in_time(floor_, stretch_), options_.phases);
    return true;
  }

  void look_further() {
    const double first = looks_.front().comparison.evidence;
    if (by_mean() ? first <= -most_of_one : std::abs(first) >= clear_cut) return;
    for (size_t most : std::span(resolutions).subspan(1, by_mean() ? 4 : 1)) {
      std::vector<FloorPoint> points = floor_points(stretch_.buckets, period_, most);
      // Few samples or a long period leave no choice: the same floor again.
      if (std::any_of(looks_.begin(), looks_.end(),
                      [&](const Look& seen) { return seen.points.size() == points.size(); }))
        continue;
      Look further = look(std::move(points), start_, span_, shape_caution());
      if (further.base > 0) looks_.push_back(std::move(further));
    }
    best_ = clearest(first_two());
  }

  // Where the floor's intervals end is arbitrary, and each choice errs in its own way: along time the mean of the evidence
  // at several resolutions separates leaks better than any one. Along steps a leak in few large steps shows at one alone,
  // and while a series goes on looks in a row take the place of the mean: there the clearer of two counts.
  bool by_mean() const { return caution_ == Caution::whole_series && !stretch_.work.known(); }
  double joint_evidence(std::span<const Look> looks) const {
    if (!by_mean() || looks.size() == 1) return clearest(looks).comparison.evidence;
    double sum = 0;
    for (const Look& look : looks) sum += std::clamp(look.comparison.evidence, -most_of_one, most_of_one);
    return sum / double(looks.size()) + clearer_by;
  }
  std::span<const Look> first_two() const {
    return std::span(looks_).first(std::min<size_t>(looks_.size(), 2));
  }
  bool is_leak(std::span<const Look> looks) const {
    return joint_evidence(looks) > options_.evidence &&
           clearest(looks).comparison.leak.rise >= options_.matter_fraction;
  }

  void decide() {
    look_further();
    v_.evidence = joint_evidence(looks_);
    v_.confidence = 1 / (1 + std::exp(-v_.evidence));
    v_.growing = rises_lately(floor_, options_.matter_fraction / 2 * best_.base) ||
                 (caution_ == Caution::while_running &&
                  rises_throughout(floor_, options_.matter_fraction / 2 * best_.base));
    v_.ruled_out_rate = by_time(could_be());
    v_.step_unit = options_.step_unit;
    // A first pass over the data may fill something for good: growth must have gone on for a part of the second.
    const double first_epoch = options_.first_epoch_end.value_or(0) - stretch_.first_time;
    v_.may_end_with_epoch =
        first_epoch > 0 && stretch_.last_time - *options_.first_epoch_end < second_epoch * first_epoch;
    const bool may_end = v_.may_end_with_epoch || (caution_ == Caution::while_running &&
                                                   (slows_down(floor_) || flattens(floor_, onset())));
    if (is_leak(looks_) && !may_end)
      call_leak();
    else
      call_no_leak_or_undecided();
  }

  void call_leak() {
    v_.kind = Kind::leak;
    v_.growing = true;
    v_.explanation = describe(best_.comparison.leak);
    set_leak_rate();
    // Up to the last sample.
    v_.floor_end +=
        v_.rate * (stretch_.last_time - stretch_.to_time(floor_[floor_.size() - 1 - ends_ / 2].time));
    if (v_.rate > 0) forecast();
  }

  void call_no_leak_or_undecided() {
    const Comparison& c = best_.comparison;
    v_.explanation = describe(c.benign);
    // Without a leak the rate is that of a rise over the whole run, which is what can be ruled out.
    set_rate(c.steady.rise, c.steady.rise - 2 * c.steady.rise_error, c.steady.rise + 2 * c.steady.rise_error,
             start_);
    const bool grows_now =
        (v_.growing && caution_ == Caution::while_running) ||
        ((stretch_.work.known() || options_.ended) && rose_late(floor_, unexplained * best_.base));
    if (!grows_now &&
        (could_be() <= options_.matter_fraction || (c.evidence < 1 && could_be() <= ruled_out_fraction))) {
      v_.kind = Kind::no_leak;
      if (caution_ == Caution::whole_series) v_.ruled_out_rate = by_time(would_be_seen());
      return;
    }
    // What grows now is told by its own rate, whether or not it will end.
    if (v_.growing && c.rate > 0) {
      set_leak_rate();
      forecast();
    }
    if (v_.may_end_with_epoch && v_.growing) return;  // how long an epoch takes is not known
    // The error of a slope falls with the 3/2 power of time; evidence grows about as fast.
    const double lack =
        std::max(could_be() / ruled_out_fraction, options_.evidence / std::max(v_.evidence, .8));
    v_.needs_seconds =
        (stretch_.last_time - stretch_.first_time) * std::clamp(std::pow(lack, 2. / 3) - 1, .15, 3.);
  }

  // `rate` and its interval are shares of the base over the stretch.
  void set_rate(double rate, double low, double high, double since) {
    const double pace = stretch_.pace_since(since);
    v_.rate = rate * unit() / pace, v_.rate_low = low * unit() / pace, v_.rate_high = high * unit() / pace;
    v_.rate_per_step = stretch_.work.known() ? std::optional(rate * unit()) : std::nullopt;
    v_.onset = stretch_.to_time(since);
  }

  // The shapes decide whether it is a leak. Along steps, without head and tail, the rate itself is best read off the
  // floor: shapes that fit a little better may take a part of the rise for themselves.
  void set_leak_rate() {
    const Comparison& c = best_.comparison;
    std::span<const FloorPoint> rising = floor_;
    while (rising.size() > least_rising && rising.front().time < onset()) rising = rising.subspan(1);
    const Slope slope = slope_of(rising);
    if ((!stretch_.work.known() && caution_ == Caution::whole_series) || rising.size() < least_rising ||
        !(slope.value > 0))
      return set_rate(over_looks(&Comparison::rate), over_looks(&Comparison::rate_low),
                      over_looks(&Comparison::rate_high), onset());
    const double error = std::max(3 * slope.error, least_rate_error * slope.value);
    // Where other shapes explain a part of the growth, it may as well have been the leak's: the slope since the start
    // lies in the interval too.
    const double whole = c.leak.shapes.empty() ? slope.value : std::max(0., slope_of(floor_).value);
    set_rate(slope.value / unit(), std::min(slope.value - error, whole) / unit(),
             std::max(slope.value + error, whole) / unit(), onset());
  }

  void forecast() {
    if (v_.limit_bytes > 0) v_.seconds_to_limit = std::max(0., (v_.limit_bytes - v_.floor_end) / v_.rate);
  }

  // As a share of the base: where the mean decides, the median over the resolutions.
  double over_looks(double Comparison::*rate) const {
    if (!by_mean()) return best_.comparison.*rate;
    std::vector<double> all;
    for (const Look& look : looks_) all.push_back(look.comparison.*rate * look.base / best_.base);
    return median(std::move(all));
  }

  // The least growth over the stretch, as a share of the base, that would have been called a leak: found by adding it
  // at two resolutions.
  double would_be_seen() const {
    double growth = std::max(could_be(), 1.1 * options_.matter_fraction);
    for (; growth < 4; growth *= 1.3) {
      std::vector<Look> grown;
      for (const Look& look : first_two()) grown.push_back(with_growth(look, growth, start_, span_));
      if (is_leak(grown)) break;
    }
    return margin * growth;
  }

  // Along steps growth that slows can be told from growth in a program that slows.
  Caution shape_caution() const { return stretch_.work.known() ? Caution::whole_series : caution_; }
  double onset() const { return start_ + best_.comparison.leak.onset * span_; }
  // From a share of the base over the stretch to bytes a step, or a second where steps are not known.
  double unit() const { return best_.base / span_; }
  double by_time(double share) const { return share * unit() / stretch_.pace_since(start_); }
  // The growth over the stretch, as a share of the base, that a steady rise could hide.
  double could_be() const {
    const auto& steady = best_.comparison.steady;
    return std::max(0., steady.rise) + 2 * steady.rise_error;
  }

  const CompactSeries& series_;
  const Options& options_;
  Caution caution_;
  Verdict v_;
  Stretch stretch_;
  double start_ = 0, span_ = 0, period_ = 0;
  std::vector<Look> looks_;        // by resolution
  Look best_;                      // the one that speaks most clearly of a leak
  std::vector<FloorPoint> floor_;  // of the finer resolution
  size_t ends_ = 1;                // points that make the start and the end of the floor
};

}  // namespace

Verdict judge_compact(const CompactSeries& series, const Options& options, Caution caution) {
  Verdict v = Judging(series, options, caution).judge();
  v.sentence = sentence(v, v.samples > 0 ? series.first_time() : 0);
  return v;
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
