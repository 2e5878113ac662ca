// The judgement over a compact series; `judge` and `OnlineVerdict` share it.
#pragma once
#include "verdict/compact.hpp"
#include "verdict/shapes.hpp"

namespace plimsoll::verdict {

Verdict judge_compact(const CompactSeries& series, const Options& options, Caution caution);

}  // namespace plimsoll::verdict
