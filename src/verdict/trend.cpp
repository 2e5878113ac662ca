#include "verdict/trend.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace plimsoll::verdict {
namespace {

constexpr double one_step = .4;     // of a rise, from a point of the floor to the next but one
constexpr double whole_step = 1.3;  // of a rise: a step that was not the whole of it

}  // namespace

double median_of(std::span<const FloorPoint> points) {
  std::vector<double> bytes;
  for (const FloorPoint& p : points) bytes.push_back(p.bytes);
  std::nth_element(bytes.begin(), bytes.begin() + long(bytes.size() / 2), bytes.end());
  return bytes[bytes.size() / 2];
}

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

bool rose_late(std::span<const FloorPoint> floor, double matters) {
  const size_t quarter = floor.size() / 4;
  if (quarter == 0) return false;
  const double rise = median_of(floor.last(quarter)) - median_of(floor.subspan(quarter, quarter));
  if (rise <= matters) return false;
  size_t steps = 0;
  double step = 0;
  for (size_t i = quarter + 2; i < floor.size(); ++i)
    if (const double up = floor[i].bytes - floor[i - 2].bytes; up >= one_step * rise) {
      ++steps, i += 2;
      step = up;
    }
  return steps != 1 || step > whole_step * rise;
}

namespace {
bool rises(std::span<const FloorPoint> points, double matters) {
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
}  // namespace

bool rises_lately(std::span<const FloorPoint> points, double matters) {
  return rises(points.subspan(points.size() / 2), matters);
}

bool rises_throughout(std::span<const FloorPoint> points, double matters) {
  return rises(points, matters) &&
         slope_of(points.subspan(points.size() / 2)).value > .5 * slope_of(points).value;
}

bool slows_down(std::span<const FloorPoint> points) {
  const size_t third = points.size() / 3;
  if (third < 5) return false;
  const Slope middle = slope_of(points.subspan(points.size() - 2 * third, third)),
              last = slope_of(points.last(third));
  return middle.value - last.value > 2 * std::hypot(middle.error, last.error) &&
         last.value < .95 * middle.value;
}

bool flattens(std::span<const FloorPoint> points, double from) {
  while (!points.empty() && points.front().time < from) points = points.subspan(1);
  const size_t half = points.size() / 2;
  return half >= 4 && slope_of(points.last(half)).value < .7 * slope_of(points.first(half)).value;
}

}  // namespace plimsoll::verdict
