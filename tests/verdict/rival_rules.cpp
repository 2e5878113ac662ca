#include "verdict/rival_rules.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace plimsoll::verdict {
namespace {

constexpr double matters = .02, sure = 2.326;

double minimum(std::span<const Sample> samples) {
  return std::min_element(samples.begin(), samples.end(), [](auto& a, auto& b) { return a.bytes < b.bytes; })
      ->bytes;
}

RivalAnswer minimum_rule(std::span<const Sample> samples, double absolute, double relative) {
  if (samples.size() < 20) return {};
  const double first = minimum(samples.first(10)), last = minimum(samples.last(10));
  const double rate = (last - first) / (samples.back().time - samples.front().time);
  return {last - first > std::max(absolute, relative * first), rate};
}

}  // namespace

RivalAnswer minimum_rule_absolute(std::span<const Sample> samples) { return minimum_rule(samples, 100e6, 0); }
RivalAnswer minimum_rule_relative(std::span<const Sample> samples) { return minimum_rule(samples, 0, .05); }

RivalAnswer least_squares(std::span<const Sample> samples) {
  const double n = double(samples.size());
  if (n < 20) return {};
  double time = 0, bytes = 0;
  for (const Sample& s : samples) time += s.time / n, bytes += s.bytes / n;
  double tt = 0, tb = 0, bb = 0;
  for (const Sample& s : samples) {
    const double t = s.time - time, b = s.bytes - bytes;
    tt += t * t, tb += t * b, bb += b * b;
  }
  const double slope = tb / tt, error = std::sqrt(std::max(0., bb - slope * tb) / (n - 2) / tt);
  return {slope > sure * error && slope * (samples.back().time - samples.front().time) > matters * bytes,
          slope};
}

RivalAnswer mann_kendall(std::span<const Sample> samples) {
  if (samples.size() < 20) return {};
  std::vector<Sample> thin;  // every pair is looked at: at most 300 samples
  for (size_t i = 0, n = std::min<size_t>(samples.size(), 300); i < n; ++i)
    thin.push_back(samples[i * (samples.size() - 1) / (n - 1)]);
  const double n = double(thin.size());
  double rising = 0;
  std::vector<double> slopes, level;
  for (size_t i = 0; i < thin.size(); ++i) {
    level.push_back(thin[i].bytes);
    for (size_t j = i + 1; j < thin.size(); ++j) {
      rising += thin[j].bytes > thin[i].bytes ? 1 : thin[j].bytes < thin[i].bytes ? -1 : 0;
      if (thin[j].time > thin[i].time)
        slopes.push_back((thin[j].bytes - thin[i].bytes) / (thin[j].time - thin[i].time));
    }
  }
  std::nth_element(slopes.begin(), slopes.begin() + long(slopes.size() / 2), slopes.end());
  std::nth_element(level.begin(), level.begin() + long(level.size() / 2), level.end());
  const double slope = slopes[slopes.size() / 2], z = rising / std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
  return {z > sure && slope * (thin.back().time - thin.front().time) > matters * level[level.size() / 2],
          slope};
}

}  // namespace plimsoll::verdict
