// Formats the current state as Prometheus text with stable names, units and bounded labels. docs/live.md
// lists them; a test compares the two.
#pragma once
#include <string>
#include <string_view>

#include "live/current.hpp"

namespace plimsoll::live {

inline constexpr size_t labelled_processes = 20;  // the largest; the rest is summed as "other"

std::string metrics_text(const Current& current);
// Backslash, quote and newline as the format wants them; other control characters and invalid UTF-8 shown.
std::string label(std::string_view value);

}  // namespace plimsoll::live
