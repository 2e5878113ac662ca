// Simpler rules in common use, for comparison in the same table.
#pragma once
#include <span>

#include "verdict/verdict.hpp"

namespace plimsoll::verdict {

struct RivalAnswer {
  bool leak = false;
  double rate = 0;  // bytes a second
};

using RivalRule = RivalAnswer (*)(std::span<const Sample>);

RivalAnswer minimum_rule_absolute(
    std::span<const Sample> samples);  // last-10 minimum above first-10 minimum by 100 MB
RivalAnswer minimum_rule_relative(std::span<const Sample> samples);  // … by 5 %
RivalAnswer least_squares(
    std::span<const Sample> samples);                       // slope above zero at 99 %, growth of 2 % or more
RivalAnswer mann_kendall(std::span<const Sample> samples);  // trend at 99 %, Theil-Sen growth of 2 % or more

}  // namespace plimsoll::verdict
