// The optimizer inside the backward pass: a gradient is used as soon as it is complete, and its bytes are free again.
#pragma once
#include "graph/graph.hpp"

namespace plimsoll {

// Moves each update, which are the nodes from `first` on, to where nothing reads its parameter or writes its gradient any
// more. A gradient of at least `joined_from` bytes is never stored: the product that makes it updates the parameter piece
// by piece. (Smaller ones stay in the cache between the two, and updates in one go are faster.) No bit changes. For a list
// that runs its loop once, in one lane, and fetches nothing; the loop ends where the first parameter changes.
void update_early(List& list, size_t first, uint64_t joined_from);

}  // namespace plimsoll
