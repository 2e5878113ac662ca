// What the backward pass recomputes instead of keeping, cheapest first.
#pragma once
#include <cstdint>

namespace plimsoll {

enum class Recompute : uint8_t {
  nothing,
  cheap,  // outputs of norms and activations
  blocks  // everything inside a block but its input: one more forward pass of those blocks, cheap in the others
};

}  // namespace plimsoll
