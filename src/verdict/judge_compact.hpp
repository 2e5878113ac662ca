// The judgement over a compact series; `judge` and `OnlineVerdict` share it.
#pragma once
#include "verdict/compact.hpp"

namespace plimsoll::verdict {

struct Thresholds {
  double evidence = 4;
};

Verdict judge_compact(const CompactSeries& series, const Options& options, const Thresholds& thresholds);

}  // namespace plimsoll::verdict
