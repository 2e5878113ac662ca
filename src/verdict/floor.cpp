#include "verdict/floor.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "verdict/median.hpp"

namespace plimsoll::verdict {
namespace {

// The floor is a low quantile of each stretch; a higher one is taken only where that makes it clearly less
// rough.
constexpr double low_quantiles[] = {.08, .25, .5};
constexpr double clearly_less = .7;
constexpr size_t least_buckets_per_point = 3;
constexpr size_t longest_dip = 3;      // points
constexpr double far_below_noise = 6;  // of the usual bend from a point to the next
constexpr double comes_back = .6;      // the fall and the rise after it, the lesser as a share of the greater

// The buckets' lows on an even grid of times, gaps filled by the neighbour before.
std::vector<double> even_grid(std::span<const Bucket> buckets, size_t size) {
  std::vector<double> grid(size);
  const double start = buckets.front().first_time, span = buckets.back().last_time - start;
  size_t at = 0;
  for (size_t i = 0; i < size; ++i) {
    double time = start + span * (double(i) + .5) / double(size);
    while (at + 1 < buckets.size() && buckets[at + 1].time() <= time) ++at;
    grid[i] = buckets[at].low();
  }
  return grid;
}

// Removes what is slower than `window` (by a running median, which follows steps) and clips what sticks out,
// so that neither drift nor spikes dominate.
void keep_fast_part(std::vector<double>& grid, size_t window) {
  std::vector<double> fast(grid.size()), sorted;
  const size_t half = window / 2;
  size_t from = 0, to = 0;
  for (size_t i = 0; i < grid.size(); ++i) {
    const size_t want_from = i > half ? i - half : 0, want_to = std::min(grid.size(), i + half + 1);
    for (; to < want_to; ++to)
      sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), grid[to]), grid[to]);
    for (; from < want_from; ++from) sorted.erase(std::lower_bound(sorted.begin(), sorted.end(), grid[from]));
    fast[i] = grid[i] - sorted[sorted.size() / 2];
  }
  sorted = fast;
  std::sort(sorted.begin(), sorted.end());
  const double low = sorted[sorted.size() / 20], high = sorted[sorted.size() - 1 - sorted.size() / 20];
  for (double& x : fast) x = std::clamp(x, low, high);
  grid = std::move(fast);
}

// Memory given back and taken again at once (workers made anew, a buffer of a validation) says nothing of a floor that is then where
// it was: what falls far beyond the noise for a few points and comes back is taken for the lower of its two sides.
void fill_dips(std::vector<FloorPoint>& points) {
  if (points.size() < 4 * longest_dip) return;
  std::vector<double> bends;
  for (size_t i = 1; i + 1 < points.size(); ++i)
    bends.push_back(std::abs(points[i].bytes - (points[i - 1].bytes + points[i + 1].bytes) / 2));
  const double least = far_below_noise * median(bends);
  for (size_t i = 1; i + 1 < points.size(); ++i)
    for (size_t end = std::min(i + longest_dip, points.size() - 1); end > i; --end) {
      double bottom = points[i].bytes, top = points[i].bytes;
      for (size_t j = i; j < end; ++j)
        bottom = std::min(bottom, points[j].bytes), top = std::max(top, points[j].bytes);
      const double down = points[i - 1].bytes - bottom, up = points[end].bytes - bottom,
                   side = std::min(points[i - 1].bytes, points[end].bytes);
      if (side - top <= least || std::min(down, up) < comes_back * std::max(down, up)) continue;
      for (; i < end; ++i) points[i].bytes = side;
      break;
    }
}

// How far points lie from the median of their neighbourhood, typically.
double roughness_of(const std::vector<FloorPoint>& points) {
  std::vector<double> away, near;
  for (size_t i = 0; i < points.size(); ++i) {
    near.clear();
    for (size_t j = i < 3 ? 0 : i - 3; j < std::min(points.size(), i + 4); ++j)
      near.push_back(points[j].bytes);
    std::nth_element(near.begin(), near.begin() + long(near.size() / 2), near.end());
    away.push_back(std::abs(points[i].bytes - near[near.size() / 2]));
  }
  return std::accumulate(away.begin(), away.end(), 0.) / double(std::max<size_t>(1, away.size()));
}

}  // namespace

double dominant_period(std::span<const Bucket> buckets) {
  const size_t size = std::min<size_t>(buckets.size(), 720);
  if (size < 48) return 0;
  std::vector<double> x = even_grid(buckets, size);
  keep_fast_part(x, size / 4);
  const double mean = std::accumulate(x.begin(), x.end(), 0.) / double(size);
  for (double& v : x) v -= mean;
  const double power = std::inner_product(x.begin(), x.end(), x.begin(), 0.);
  if (!(power > 0)) return 0;
  const size_t longest = size / 8;
  std::vector<double> correlation(longest + 2);
  for (size_t lag = 1; lag < correlation.size(); ++lag)
    correlation[lag] = std::inner_product(x.begin(), x.end() - long(lag), x.begin() + long(lag), 0.) / power *
                       double(size) / double(size - lag);
  // Past the first dip, the highest peak; of its near equals the shortest lag, not a multiple.
  size_t lag = 1;
  while (lag < longest && correlation[lag] > 0.05) ++lag;
  size_t best = 0;
  for (; lag <= longest; ++lag)
    if (correlation[lag] >= correlation[lag - 1] && correlation[lag] > correlation[lag + 1] &&
        correlation[lag] > std::max(0.25, best ? 1.15 * correlation[best] : 0.))
      best = lag;
  if (best < 3) return 0;
  return double(best) / double(size) * (buckets.back().last_time - buckets.front().first_time);
}

std::vector<FloorPoint> floor_points(std::span<const Bucket> buckets, double period, size_t most) {
  const double start = buckets.front().first_time, span = buckets.back().last_time - start;
  size_t count = std::min(most, std::max<size_t>(buckets.size() / least_buckets_per_point, 1));
  if (period > 0) {
    // Whole periods a stretch, so that each sees the saw-tooth's foot once or equally often.
    double periods = std::ceil(span / double(count) / period);
    count = std::min(count, std::max<size_t>(size_t(span / (periods * period)), 8));
  }
  std::vector<FloorPoint> best;
  double best_roughness = 0;
  for (double quantile : low_quantiles) {
    std::vector<FloorPoint> points;
    std::vector<double> lows;
    size_t at = 0;
    for (size_t i = 0; i < count; ++i) {
      const double until = start + span * double(i + 1) / double(count);
      lows.clear();
      double time = 0;
      for (; at < buckets.size() && (buckets[at].time() <= until || i + 1 == count); ++at) {
        lows.push_back(buckets[at].low());
        time += buckets[at].time();
      }
      if (lows.empty()) continue;
      auto nth = lows.begin() + long(quantile * double(lows.size()));
      std::nth_element(lows.begin(), nth, lows.end());
      points.push_back({time / double(lows.size()), *nth});
    }
    fill_dips(points);
    const double roughness = roughness_of(points);
    if (best.empty() || roughness < clearly_less * best_roughness) best = points, best_roughness = roughness;
  }
  return best;
}

std::vector<SpikePoint> spike_points(std::span<const Bucket> buckets, std::span<const FloorPoint> floor) {
  std::vector<SpikePoint> spikes;
  if (floor.empty()) return spikes;
  // Height of each bucket's top above the floor at its time.
  std::vector<double> height(buckets.size());
  size_t at = 0;
  for (size_t i = 0; i < buckets.size(); ++i) {
    const double time = buckets[i].time();
    while (at + 1 < floor.size() && floor[at + 1].time <= time) ++at;
    double level = floor[at].bytes;
    if (at + 1 < floor.size() && time > floor[at].time)
      level +=
          (floor[at + 1].bytes - level) * (time - floor[at].time) / (floor[at + 1].time - floor[at].time);
    height[i] = buckets[i].highest - level;
  }
  const double usual = median(height);
  std::vector<double> away = height;
  for (double& x : away) x = std::abs(x - usual);
  // Beyond what a saw-tooth or the noise reaches, and worth mentioning.
  const double least = usual + std::max(7.4 * median(away), .03 * floor.back().bytes);
  for (size_t i = 0; i < buckets.size(); ++i) {
    if (height[i] <= least) continue;
    SpikePoint top{0, 0, 0};
    for (; i < buckets.size() && height[i] > least; ++i)
      if (height[i] > top.height) top = {buckets[i].time(), buckets[i].highest, height[i]};
    spikes.push_back(top);
  }
  return spikes;
}

Spikes find_spikes(std::span<const Bucket> buckets, std::span<const FloorPoint> floor,
                   std::span<const Phase> phases) {
  Spikes out;
  std::vector<double> peaks;
  std::map<std::string, size_t> named;
  for (const SpikePoint& spike : spike_points(buckets, floor)) {
    peaks.push_back(spike.height);
    for (const Phase& phase : phases)
      if (spike.time >= phase.begin && spike.time <= phase.end) ++named[phase.name];
  }
  out.count = peaks.size();
  if (!peaks.empty()) out.typical_bytes = median(peaks);
  for (auto& [name, count] : named)
    if (2 * count > peaks.size()) out.phase = name;
  return out;
}

}  // namespace plimsoll::verdict
