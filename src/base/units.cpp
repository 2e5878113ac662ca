#include "base/units.hpp"

#include <charconv>
#include <cmath>
#include <utility>

#include "base/error.hpp"

namespace plimsoll {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};
constexpr Unit size_units[] = {
    {"", 1},     {"B", 1},       {"kB", 1e3},       {"KB", 1e3},          {"MB", 1e6},
    {"GB", 1e9}, {"TB", 1e12},   {"K", 1e3},        {"M", 1e6},           {"G", 1e9},
    {"T", 1e12}, {"KiB", 1024.}, {"MiB", 1048576.}, {"GiB", 1073741824.}, {"TiB", 1099511627776.}};
constexpr Unit time_units[] = {{"", 1},     {"ms", 1e-3}, {"s", 1},    {"m", 60},
                               {"min", 60}, {"h", 3600},  {"d", 86400}};

// Splits "1.5GiB" into 1.5 and "GiB"; a negative, infinite or missing number gives -1.
std::pair<double, std::string_view> split(std::string_view text) {
  double number = -1;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number) || number < 0) return {-1, {}};
  std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  return {number, unit};
}

std::string before_value(std::string_view where) {
  return where.empty() ? std::string() : fmt::format("{}: ", where);
}

}  // namespace

Size parse_size(std::string_view text, std::string_view where) {
  auto [number, unit] = split(text);
  if (number >= 0 && unit == "%" && number <= 100)
    return {.bytes = 0, .share = number / 100, .is_share = true};
  if (number >= 0)
    for (const Unit& u : size_units)
      if (unit == u.name && number * u.factor < 9.2e18)
        return {.bytes = static_cast<uint64_t>(std::llround(number * u.factor))};
  fail_input("{}'{}' is not a size; write it like 512MB, 1.5GiB or 80%", before_value(where), text);
}

std::string format_size(const Size& size) {
  if (size.is_share) return fmt::format("{}%", size.share * 100);
  constexpr std::pair<uint64_t, const char*> units[] = {
      {1'000'000'000, "GB"}, {1 << 30, "GiB"}, {1'000'000, "MB"}, {1 << 20, "MiB"}};
  for (const auto& [factor, name] : units)
    if (size.bytes > 0 && size.bytes % factor == 0) return fmt::format("{}{}", size.bytes / factor, name);
  return fmt::format("{}", size.bytes);
}

uint64_t parse_bytes(std::string_view text, std::string_view where) {
  Size size = parse_size(text, where);
  if (size.is_share)
    fail_input("{}'{}' is a percentage where a size is needed; write it like 512MB or 1.5GiB",
               before_value(where), text);
  return size.bytes;
}

double parse_duration(std::string_view text, std::string_view where) {
  auto [number, unit] = split(text);
  if (number >= 0)
    for (const Unit& u : time_units)
      if (unit == u.name) return number * u.factor;
  fail_input("{}'{}' is not a duration; write it like 500ms, 2s, 5m or 1h", before_value(where), text);
}

std::string format_bytes(uint64_t bytes) {
  const char* names[] = {"kB", "MB", "GB", "TB"};
  double value = double(bytes);
  if (value < 1000) return fmt::format("{} B", bytes);
  int unit = -1;
  while (value >= 999.5 && unit < 3) value /= 1000, ++unit;
  return value < 9.995 ? fmt::format("{:.2f} {}", value, names[unit])
                       : fmt::format("{:.{}f} {}", value, value < 99.95 ? 1 : 0, names[unit]);
}

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds)) return "?";
  if (seconds < 60) return fmt::format("{:.1f}s", seconds);
  auto whole = static_cast<long long>(seconds + 0.5);
  if (whole < 3600) return fmt::format("{}m {:02}s", whole / 60, whole % 60);
  if (whole < 86400) return fmt::format("{}h {:02}m", whole / 3600, whole / 60 % 60);
  return fmt::format("{}d {:02}h", whole / 86400, whole / 3600 % 24);
}

std::string format_count(uint64_t count) {
  std::string digits = std::to_string(count);
  for (int i = static_cast<int>(digits.size()) - 3; i > 0; i -= 3) digits.insert(static_cast<size_t>(i), ",");
  return digits;
}

}  // namespace plimsoll
