#include "verdict/stretch.hpp"

#include <algorithm>
#include <cmath>

#include "verdict/median.hpp"

namespace plimsoll::verdict {
namespace {

constexpr size_t least_marks = 8;
constexpr double longest_gap = .25;  // of the time covered, without a mark
constexpr double longest_end = 1.5;  // of the time covered, after the last mark, where nothing grows any more
constexpr double grown = 1.01;       // of the level at the last mark: the program went on without telling
constexpr double burst = 2e-3;       // of the run's time: marks closer than this came at once
constexpr double settling = .05;     // of the steps: pools and caches of the first ones
constexpr double far_below = .25;    // of what is held later: a program that is only starting
constexpr double latest_start = .6;  // of the run: by then the loop must have begun
constexpr double longest_exit = .3;  // of the run at its end may be the program ending
constexpr double fallen = .985;      // of the level before: memory that was given back
constexpr double still = 1.002;      // within this nothing moves
constexpr size_t least_buckets = 24;  // fewer are not cut

double interpolated(double x, double x0, double y0, double x1, double y1) {
  return x1 > x0 ? y0 + (y1 - y0) * (x - x0) / (x1 - x0) : y1;
}

// A straight line through the later part of the lows, by the medians of its thirds.
struct Line {
  double time, level, slope, spread;
  double at(double t) const { return level + slope * (t - time); }
};

Line later_line(std::span<const Bucket> buckets) {
  const std::span<const Bucket> later = buckets.last(buckets.size() * 2 / 5);
  const size_t third = later.size() / 3;
  auto middle = [](std::span<const Bucket> part, auto&& value) {
    std::vector<double> all;
    for (const Bucket& b : part) all.push_back(value(b));
    return median(std::move(all));
  };
  auto low = [](const Bucket& b) { return b.low(); };
  auto time = [](const Bucket& b) { return b.time(); };
  Line line{middle(later, time), 0, 0, 0};
  line.slope = (middle(later.last(third), low) - middle(later.first(third), low)) /
               (middle(later.last(third), time) - middle(later.first(third), time));
  line.slope = std::max(line.slope, 0.);
  line.level = middle(later, [&](const Bucket& b) { return b.low() - line.slope * (b.time() - line.time); });
  line.spread = 1.5 * middle(later, [&](const Bucket& b) { return std::abs(b.low() - line.at(b.time())); });
  return line;
}

// The first bucket after a start-up that came up from far below, by its change point: where memory first reaches the
// line that the later part of the run follows.
size_t after_start_up(std::span<const Bucket> buckets) {
  if (buckets.size() < least_buckets) return 0;
  std::vector<double> lows;
  for (const Bucket& b : buckets) lows.push_back(b.low());
  if (buckets.front().low() >= far_below * median(lows)) return 0;
  const Line line = later_line(buckets);
  const double latest =
      buckets.front().first_time + latest_start * (buckets.back().last_time - buckets.front().first_time);
  size_t first = 0;
  while (first + 1 < buckets.size() && buckets[first].time() < latest) {
    const double expected = line.at(buckets[first].time());
    if (buckets[first].low() >= expected - std::max(3 * line.spread, .02 * std::abs(expected))) break;
    ++first;
  }
  return first;
}

// The end of the series without the last moments of a program that gives memory back and is gone: memory has fallen,
// and from there on it stands still or falls on.
size_t before_coming_down(std::span<const Bucket> buckets) {
  if (buckets.size() < least_buckets) return buckets.size();
  const double last = buckets.back().low(),
               from = buckets.back().last_time -
                      longest_exit * (buckets.back().last_time - buckets.front().first_time);
  size_t tail = buckets.size();
  double later = 0;  // the most from here on
  while (tail > 0 && buckets[tail - 1].time() > from && buckets[tail - 1].low() <= last / fallen &&
         buckets[tail - 1].low() >= later / still) {
    --tail;
    later = std::max(later, buckets[tail].low());
  }
  return tail > 0 && buckets[tail - 1].low() > last / fallen ? tail : buckets.size();
}

}  // namespace

Work::Work(std::span<const StepMark> marks, std::span<const Bucket> series) {
  const double first_time = series.front().first_time, last_time = series.back().last_time,
               run = last_time - first_time;
  std::vector<StepMark> kept;
  for (const StepMark& mark : marks) {
    if (mark.time < first_time || mark.time > last_time) continue;
    if (!kept.empty() && mark.step <= kept.back().step) continue;
    // Of marks that came at once the last is nearest to where the program is.
    if (!kept.empty() && mark.time - kept.back().time < burst * run && kept.size() > 1)
      kept.back().step = mark.step;
    else
      kept.push_back(mark);
  }
  if (kept.size() < least_marks) return;
  const double covered = kept.back().time - kept.front().time;
  std::vector<double> gaps;
  for (size_t i = 1; i < kept.size(); ++i) gaps.push_back(kept[i].time - kept[i - 1].time);
  if (*std::max_element(gaps.begin(), gaps.end()) > longest_gap * covered) return;
  if (const double silent = last_time - kept.back().time; silent > longest_gap * covered) {
    // The loop has ended and the program is on its way out, or it goes on and only its counter stands still.
    size_t at = series.size() - 1;
    while (at > 0 && series[at].time() > kept.back().time) --at;
    if (silent > longest_end * covered || series.back().low() > grown * series[at].low()) return;
  }
  usual_gap_ = median(std::move(gaps));
  marks_ = std::move(kept);
}

double Work::at(double time) const {
  const auto after = std::upper_bound(marks_.begin() + 1, marks_.end() - 1, time,
                                      [](double t, const StepMark& mark) { return t < mark.time; });
  const StepMark &a = *(after - 1), &b = *after;
  return interpolated(time, a.time, a.step, b.time, b.step);
}

double Work::time_of(double step) const {
  const auto after = std::upper_bound(marks_.begin() + 1, marks_.end() - 1, step,
                                      [](double s, const StepMark& mark) { return s < mark.step; });
  const StepMark &a = *(after - 1), &b = *after;
  return interpolated(step, a.step, a.time, b.step, b.time);
}

double Stretch::pace_since(double position) const {
  if (!work.known()) return 1;
  const double steps = end() - std::min(position, begin() + .9 * (end() - begin()));
  return (last_time - to_time(end() - steps)) / steps;
}

Stretch judged_stretch(const CompactSeries& series, const Options& options) {
  Stretch out;
  std::span<const Bucket> all = series.buckets();
  if (all.empty()) return out;
  out.work = Work(options.steps, all);
  size_t first = 0, end = all.size();
  auto begin_at = [&](double from) {
    while (first + 1 < end && all[first].time() < from) ++first;
  };
  if (out.work.known()) {
    const Work& work = out.work;
    while (end > 1 && all[end - 1].time() > work.last_time()) --end;
    begin_at(work.first_time() + settling * (work.last_time() - work.first_time()));
  } else {
    if (options.ended) end = before_coming_down(all);
    const double loaded = options.loaded.value_or(all.front().first_time);
    if (loaded > all.front().first_time) begin_at(loaded + settling * (all[end - 1].last_time - loaded));
    if (options.starts_up) first += after_start_up(all.subspan(first, end - first));
  }
  out.first_time = all[first].first_time, out.last_time = all[end - 1].last_time;
  for (const Bucket& bucket : all.subspan(first, end - first)) {
    out.samples += bucket.count;
    out.buckets.push_back(bucket);
    if (!out.work.known()) continue;
    out.buckets.back().first_time = out.work.at(bucket.first_time);
    out.buckets.back().last_time = out.work.at(bucket.last_time);
  }
  return out;
}

}  // namespace plimsoll::verdict
