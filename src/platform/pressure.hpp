// Pressure stall information: the share of time in which tasks waited for memory.
#pragma once
#include <optional>
#include <string_view>

#include "platform/proc.hpp"

namespace plimsoll::pressure {

struct Pressure {
  double some10 = 0, some60 = 0, full10 = 0, full60 = 0;  // percent over the last 10 and 60 seconds
};
std::optional<Pressure> parse_pressure(std::string_view text);
// nullopt on kernels without PSI.
std::optional<Pressure> memory_pressure(const proc::Files& files);

}  // namespace plimsoll::pressure
