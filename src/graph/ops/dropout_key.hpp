// Identifies a dropout mask by run, step, place in the model and row. Masks are never stored.
#pragma once
#include "base/random.hpp"
#include "graph/op.hpp"

namespace plimsoll::ops {

inline uint32_t dropout_key(const Moment& now, uint32_t site, uint64_t row) {
  return static_cast<uint32_t>(
      CounterRng(now.seed, Stream::dropout).bits(mix64(now.step) + (uint64_t(site) << 40) + row));
}
inline uint32_t dropout_threshold(float rate) { return static_cast<uint32_t>(double(rate) * 4294967296.0); }

}  // namespace plimsoll::ops
