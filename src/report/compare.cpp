#include "report/compare.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.hpp"

namespace plimsoll::report {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return unknown_real;
  const auto middle = values.begin() + long(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double floor_of(const RunData& data) {
  return data.judgement ? data.judgement->verdict.floor_end : unknown_real;
}

double peak_of(const RunData& data) {
  double peak = unknown_real;
  for (const RunReader::Memory& row : data.memory) peak = std::fmax(peak, double(footprint(row)));
  return peak;
}

double tokens_of(const RunData& data) {
  std::vector<double> values;
  for (const StepRow& row : data.steps)
    if (std::isfinite(row.tokens_per_second)) values.push_back(row.tokens_per_second);
  return median(std::move(values));
}

double last_loss(const RunData& data) {
  return data.evaluations.empty() ? unknown_real : data.evaluations.back().loss;
}

std::string bytes_of(double value) { return format_bytes(uint64_t(std::max(0., value))); }

// "uses 41 % less at the floor (23 MB against 39 MB)"; half a percent is nothing.
std::string amount(const char* where, double ratio, double a, double b) {
  const std::string both = fmt::format(" ({} against {})", bytes_of(b), bytes_of(a));
  if (std::abs(ratio - 1) < .005) return fmt::format("the same {}", where) + both;
  if (ratio > 2) return fmt::format("{:.1f} times as much {}", ratio, where) + both;
  return fmt::format("{:.0f} % {} {}", 100 * std::abs(ratio - 1), ratio < 1 ? "less" : "more", where) + both;
}

std::string pace(double ratio) {
  if (std::abs(ratio - 1) < .005) return "equally fast";
  return ratio < 1 ? fmt::format("{:.2f}x slower", 1 / ratio) : fmt::format("{:.2f}x faster", ratio);
}

}  // namespace

double speed_of(const RunData& data) {
  std::vector<double> values;
  for (const StepRow& row : data.steps)
    if (std::isfinite(row.iterations_per_second)) values.push_back(row.iterations_per_second);
  if (!values.empty()) return median(std::move(values));
  if (data.steps.size() < 2) return unknown_real;
  const StepRow &first = data.steps.front(), &last = data.steps.back();
  return last.time > first.time && last.step > first.step
             ? double(last.step - first.step) / (last.time - first.time)
             : unknown_real;
}

Difference compare(const RunData& a, const RunData& b) {
  Difference out;
  const double floor_a = floor_of(a), floor_b = floor_of(b), peak_a = peak_of(a), peak_b = peak_of(b);
  out.floor_ratio = floor_a > 0 ? floor_b / floor_a : unknown_real;
  out.peak_ratio = peak_a > 0 ? peak_b / peak_a : unknown_real;
  // Tokens where both count them: steps of different batches are not the same work.
  out.speed_ratio = tokens_of(b) / tokens_of(a);
  if (!std::isfinite(out.speed_ratio)) out.speed_ratio = speed_of(b) / speed_of(a);
  if (!std::isfinite(out.speed_ratio)) out.speed_ratio = unknown_real;
  out.loss_difference = last_loss(b) - last_loss(a);
  std::vector<std::string> parts;
  if (std::isfinite(out.floor_ratio))
    parts.push_back("uses " + amount("at the floor", out.floor_ratio, floor_a, floor_b));
  if (std::isfinite(out.peak_ratio)) parts.push_back(amount("at its peak", out.peak_ratio, peak_a, peak_b));
  if (std::isfinite(out.speed_ratio)) parts.push_back(pace(out.speed_ratio));
  if (std::isfinite(out.loss_difference))
    parts.push_back(fmt::format("validation loss {:.4f} against {:.4f}", last_loss(b), last_loss(a)));
  out.sentence = parts.empty() ? "The two runs have no measurements in common to compare."
                               : fmt::format("B {}.", fmt::join(parts, ", "));
  return out;
}

}  // namespace plimsoll::report
