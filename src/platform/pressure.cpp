#include "platform/pressure.hpp"

#include <cmath>

#include "base/text.hpp"

namespace plimsoll::pressure {
namespace {

std::optional<double> value_of(std::string_view line, std::string_view key) {
  while (!line.empty()) {
    std::string_view word = text::next_word(line);
    if (!word.starts_with(key)) continue;
    word.remove_prefix(key.size());
    double value = 0;
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error == std::errc() && end == word.data() + word.size() && std::isfinite(value)) return value;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Pressure> parse_pressure(std::string_view content) {
  Pressure pressure;
  bool seen = false;
  while (!content.empty()) {
    std::string_view line = text::next_line(content);
    bool some = line.starts_with("some "), full = line.starts_with("full ");
    if (!some && !full) continue;
    auto ten = value_of(line, "avg10="), sixty = value_of(line, "avg60=");
    if (!ten || !sixty) return std::nullopt;
    (some ? pressure.some10 : pressure.full10) = *ten;
    (some ? pressure.some60 : pressure.full60) = *sixty;
    seen |= some;
  }
  return seen ? std::optional(pressure) : std::nullopt;
}

std::optional<Pressure> memory_pressure(const proc::Files& files) {
  std::string content;
  if (files.read("pressure/memory", content, 4096) != proc::Read::ok) return std::nullopt;
  return parse_pressure(content);
}

}  // namespace plimsoll::pressure
