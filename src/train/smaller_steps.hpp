// The fallback ways of a running trainer when memory gets short: the same step with fewer windows at once and
// more of them in turn, and finally with everything inside the blocks recomputed.
#pragma once
#include <vector>

#include "train/way.hpp"

namespace plimsoll {

// Largest first, each at most `factor` of the windows of the one before, all smaller than `way`.
// Having one at hand takes some heap (0.05 MB a block of the model), so at most `most` are: the first, the last and what
// lies evenly between them.
std::vector<ProgramOptions> smaller_steps(const Settings& settings, int vocab, Way way, double factor,
                                          size_t most);

}  // namespace plimsoll
