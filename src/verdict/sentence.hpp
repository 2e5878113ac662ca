// A verdict in one plain sentence.
#pragma once
#include <string>

#include "verdict/shapes.hpp"
#include "verdict/verdict.hpp"

namespace plimsoll::verdict {

// `start` is the time of the first sample: people think in time since then.
std::string sentence(const Verdict& verdict, double start);
// The shapes of a fit by name: "warm-up + step".
std::string describe(const Fit& fit);

}  // namespace plimsoll::verdict
