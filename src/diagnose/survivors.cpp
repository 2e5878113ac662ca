#include "diagnose/survivors.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace plimsoll::diagnose {
namespace {

constexpr size_t enough_before = 4, enough_since = 3;  // samples: fewer may be chance
constexpr size_t enough_certain = 2;                   // of blocks that are always sampled
constexpr double as_before = 0.6;                      // of what was kept of as much of the first epoch
constexpr double part_of_each_half =
    0.2;                          // of the first epoch: what was cleared meanwhile has lost its first half
constexpr double replaces = 0.2;  // of what it gained since, given back of the first epoch
constexpr size_t moments = 2;     // of the second epoch at which something was kept
constexpr double same_moment = 0.02;  // of the time since it began
// A cache that meets fewer and fewer new keys has most of its events behind it. What comes with one step is one event.
constexpr double slowing = -1.5, one_step = 0.5;

// What is kept at one moment, as when the program takes stock at the end of an epoch, is no trend.
size_t distinct_moments(std::span<const double> times, double apart) {
  size_t count = times.empty() ? 0 : 1;
  for (size_t i = 1; i < times.size(); ++i) count += times[i] - times[i - 1] > apart;
  return count;
}

}  // namespace

double trend(std::span<const double> places, double from, double until, double together) {
  double sum = 0, last = -INFINITY;
  size_t count = 0;
  for (const double place : places) {
    if (place - last > together) sum += (place - from) / (until - from) - 0.5, ++count;
    last = place;
  }
  return count ? sum / double(count) * std::sqrt(12. * double(count)) : 0;
}

double progress_at(double time, std::span<const verdict::StepMark> steps) {
  if (steps.size() < 2) return time;
  auto after =
      std::upper_bound(steps.begin(), steps.end(), time,
                       [](double value, const verdict::StepMark& mark) { return value < mark.time; });
  if (after == steps.begin()) ++after;
  if (after == steps.end()) --after;
  const verdict::StepMark &from = *(after - 1), &to = *after;
  return from.step + (to.step - from.step) * (time - from.time) / (to.time - from.time);
}

double kept_of_first(std::span<const Birth> born, const Epochs& epochs) {
  double bytes = 0;
  for (const Birth& birth : born)
    if (epochs.first_end() && birth.time >= epochs.begin() && birth.time < *epochs.first_end())
      bytes += birth.bytes;
  return bytes;
}

std::optional<KeptOn> keeps_on(std::span<const Birth> born, const Epochs& epochs, double settled,
                               std::span<const verdict::StepMark> steps, double most_of_first) {
  if (!epochs.first_end() || settled <= *epochs.first_end()) return std::nullopt;
  const double begin = epochs.begin(), end = *epochs.first_end(), middle = (begin + end) / 2;
  double first_half = 0, second_half = 0, later = 0;
  std::vector<double> times, places;
  bool certain = true;  // of the second epoch
  for (const Birth& birth : born) {
    if (birth.time < begin || birth.time >= settled) continue;
    if (birth.time >= end) certain = certain && birth.certain;
    (birth.time >= end ? later : birth.time < middle ? first_half : second_half) += birth.bytes;
    times.push_back(birth.time);
  }
  std::sort(times.begin(), times.end());
  for (const double time : times) places.push_back(progress_at(time, steps));
  const auto second =
      std::span(times).subspan(size_t(std::lower_bound(times.begin(), times.end(), end) - times.begin()));
  const double first = first_half + second_half;
  if (most_of_first - first > replaces * later || times.size() - second.size() < enough_before ||
      second.size() < (certain ? enough_certain : enough_since) ||
      std::min(first_half, second_half) < part_of_each_half * first ||
      distinct_moments(second, same_moment * (settled - end)) < moments)
    return std::nullopt;
  const double from = progress_at(begin, steps), turn = progress_at(end, steps),
               now = progress_at(settled, steps);
  if (!(turn > from) || !(now > turn) || trend(places, from, now, one_step) < slowing) return std::nullopt;
  // On a busy machine one of the two measures may lag; what has stopped falls behind by both.
  const double by_progress = later / (now - turn) / (first / (turn - from)),
               by_time = later / (settled - end) / (first / (end - begin));
  if (std::max(by_progress, by_time) < as_before) return std::nullopt;
  return KeptOn{first + later, later / (settled - end)};
}

}  // namespace plimsoll::diagnose
