#include "report/trend.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace plimsoll::report {
namespace {

constexpr size_t floor_resolution = 36, band_points = 33, most_spikes = 24;

double number_of(const nlohmann::json& json) { return json.is_number() ? json.get<double>() : 0; }

// The verdict gives a slope with its interval. A line fitted to evenly spread points is surest in their middle: with
// h half of the slope's interval and T the length, it lies within h * sqrt(T^2 / 12 + (t - middle)^2) of the fit.
std::vector<BandPoint> band_of(const nlohmann::json& verdict, const std::vector<verdict::FloorPoint>& floor,
                               double from, double until) {
  const double rate = number_of(verdict["rate_bytes_per_second"]);
  const double low = std::max(0., rate - number_of(verdict["rate_interval"][0])),
               high = std::max(0., number_of(verdict["rate_interval"][1]) - rate);
  std::vector<double> levels;
  for (const verdict::FloorPoint& point : floor)
    if (point.time >= from) levels.push_back(point.bytes - rate * point.time);
  if (levels.empty() || !(until > from)) return {};
  const auto middle_level = levels.begin() + long(levels.size() / 2);
  std::nth_element(levels.begin(), middle_level, levels.end());
  const double span = until - from, middle = from + span / 2;
  std::vector<BandPoint> band;
  for (size_t i = 0; i < band_points; ++i) {
    const double time = from + span * double(i) / double(band_points - 1), away = time - middle;
    const double reach = std::sqrt(span * span / 12 + away * away), fit = *middle_level + rate * time;
    band.push_back({time, std::max(0., fit - low * reach), fit, fit + high * reach});
  }
  return band;
}

}  // namespace

Trend trend_of(const RunData& data) {
  Trend trend;
  verdict::CompactSeries series;
  for (const RunReader::Memory& row : data.memory)
    if (row.time >= data.from && row.time <= data.until && footprint(row) > 0)
      series.add({row.time, double(footprint(row))});
  const nlohmann::json verdict = nlohmann::json::parse(data.verdict, nullptr, false);
  if (series.samples() < 2 || !verdict.is_object()) return trend;
  trend.floor =
      verdict::floor_points(series.buckets(), number_of(verdict["period_seconds"]), floor_resolution);
  trend.spikes = verdict::spike_points(series.buckets(), trend.floor);
  if (trend.spikes.size() > most_spikes) {
    std::nth_element(trend.spikes.begin(), trend.spikes.begin() + most_spikes, trend.spikes.end(),
                     [](const auto& a, const auto& b) { return a.height > b.height; });
    trend.spikes.resize(most_spikes);
    std::sort(trend.spikes.begin(), trend.spikes.end(),
              [](const auto& a, const auto& b) { return a.time < b.time; });
  }
  const double from =
      std::clamp(number_of(verdict["onset_seconds"]), series.first_time(), series.last_time());
  trend.band = band_of(verdict, trend.floor, from, series.last_time());
  return trend;
}

}  // namespace plimsoll::report
