// The optimizer inside the backward pass: a gradient is used as soon as it is complete, and its bytes are free again.
#pragma once
#include "graph/graph.hpp"

namespace plimsoll {

// Moves each update, which are the nodes from `first` on, to where nothing reads its parameter or writes its gradient any
// more, and lets the product that makes a gradient update its parameter piece by piece where it can: that gradient is
// never stored. No bit changes. For a list that runs its loop once, in one lane, and fetches nothing; the loop ends where
// the first parameter changes.
void update_early(List& list, size_t first);

}  // namespace plimsoll
