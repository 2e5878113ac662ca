// Whether a line that replaces all it holds grew, or whether that is the chance of sampling. What a leak has lost is as old
// as the leak; a line whose oldest block is young has given back everything it held before, and rises only where what it
// makes anew becomes more. Pure functions.
#pragma once
#include <cstdint>
#include <span>

#include "verdict/verdict.hpp"

namespace plimsoll::diagnose {

// The standard deviation of the bytes that samples say are held in `blocks` blocks, where one is taken every `sample_bytes`
// on average: near zero for blocks that are much larger, since each of those is seen.
double sampling_error(double bytes, double blocks, double sample_bytes);

// What a line holds when it was last seen.
struct HeldNow {
  double oldest_seconds = 0;  // the age of its oldest block
  double error = 0;           // see sampling_error
};

// True where everything was replaced since the middle of the time from `onset`, and the last third of that time holds no more
// than the third before it, within the error.
bool replaced_by_chance(std::span<const verdict::Sample> held, double onset, const HeldNow& now);

}  // namespace plimsoll::diagnose
