#include "diagnose/turnover.hpp"

#include <algorithm>
#include <cmath>

namespace plimsoll::diagnose {
namespace {

constexpr double young = 0.5;    // of the time it grew
constexpr double by_chance = 4;  // standard deviations of the difference between two thirds

double mean_bytes(std::span<const verdict::Sample> held, double from, double until) {
  double sum = 0;
  size_t count = 0;
  for (const verdict::Sample& sample : held)
    if (sample.time > from && sample.time <= until) sum += sample.bytes, ++count;
  return count ? sum / double(count) : 0;
}

}  // namespace

double sampling_error(double bytes, double blocks, double sample_bytes) {
  if (!(bytes > 0) || !(blocks > 0)) return 0;
  const double size = bytes / blocks, seen = -std::expm1(-size / sample_bytes);
  return std::sqrt(bytes * size * (1 - seen) / seen);
}

bool replaced_by_chance(std::span<const verdict::Sample> held, double onset, const HeldNow& now) {
  if (held.empty() || !(now.oldest_seconds > 0)) return false;
  const double end = held.back().time, grew = end - onset;
  if (now.oldest_seconds >= young * grew) return false;
  // Looks within the life of a block see the same samples.
  const double third = grew / 3, independent = std::max(1.0, third / now.oldest_seconds),
               rise = mean_bytes(held, end - third, end) - mean_bytes(held, end - 2 * third, end - third);
  return rise <= by_chance * now.error * std::sqrt(2 / independent);
}

}  // namespace plimsoll::diagnose
