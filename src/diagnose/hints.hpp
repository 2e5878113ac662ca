// What to try about a line that grows, from what was seen of it: the functions in its stacks, the processes it runs in,
// and the text of the function it belongs to. Nothing is said where nothing was seen.
#pragma once
#include <string>

#include "diagnose/sites.hpp"

namespace plimsoll::diagnose {

// One or two sentences; empty: nothing to say. `sample_bytes` is what one sample stands for.
std::string hint_for(const Site& site, double sample_bytes);

}  // namespace plimsoll::diagnose
