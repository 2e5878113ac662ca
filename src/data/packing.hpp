// Packs samples into windows, and visits the windows in an order that changes every epoch.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace plimsoll {

// Which samples share a window: those of window w are samples[begin[w]] to samples[begin[w + 1] - 1], in that order.
struct Packing {
  std::vector<uint32_t> samples;
  std::vector<uint32_t> begin = {0};
  size_t windows() const { return begin.size() - 1; }
};

// The longest first, each into the window where the least room is left. No length may pass `room`; samples of length 0
// are left out.
Packing pack(std::span<const uint32_t> lengths, uint32_t room);

// Where `place` of [0, count) goes in an order drawn by the seed: every place once. A pure function, without a table.
uint64_t permuted(uint64_t place, uint64_t count, uint64_t seed, uint64_t epoch);

}  // namespace plimsoll
