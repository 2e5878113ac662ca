#include "guard/policy.hpp"

#include <algorithm>

namespace plimsoll::guard {

const char* level_name(Level level) {
  constexpr const char* names[] = {"ok", "warn", "shrink", "pause", "stop"};
  return names[size_t(level)];
}

uint64_t Lines::of(Level level) const {
  const uint64_t lines[] = {0, warn, shrink, pause, stop};
  return lines[size_t(level)];
}

Lines Policy::lines(uint64_t limit) const {
  const double threshold = memory_threshold_percentage / 100, rest = 1 - threshold;
  auto at = [&](const std::optional<Size>& given, double share) {
    return std::min(limit, given ? given->of(limit) : uint64_t(share * double(limit)));
  };
  // The stop line holds; a milder one never lies above a harder one.
  Lines lines;
  lines.stop = at(stop_threshold, threshold + rest * 3 / 4);
  lines.pause = std::min(lines.stop, at(pause_threshold, threshold + rest / 2));
  lines.shrink = std::min(lines.pause, at(std::nullopt, threshold));
  lines.warn = std::min(lines.shrink, at(warn_threshold, threshold * 7 / 8));
  return lines;
}

}  // namespace plimsoll::guard
