#include "data/packing.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/random.hpp"

namespace plimsoll {

Packing pack(std::span<const uint32_t> lengths, uint32_t room) {
  std::vector<uint32_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](uint32_t sample) { return lengths[sample] == 0; });
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return lengths[a] > lengths[b]; });
  // Windows by the room left in them. A tree over the rooms tells which is the least that suffices.
  const size_t leaves = std::bit_ceil(size_t(room) + 1);
  std::vector<uint32_t> count(2 * leaves);
  std::vector<std::vector<uint32_t>> with_room(size_t(room) + 1);
  std::vector<uint32_t> window_of;  // by place in `order`
  window_of.reserve(order.size());
  Packing packing;
  const auto change = [&](size_t left, int by) {
    for (size_t node = leaves + left; node; node /= 2) count[node] += uint32_t(by);
  };
  // The least room >= `needed` that some window has; room + 1 if none has.
  const auto least = [&](size_t needed) -> size_t {
    size_t node = leaves + needed;
    while (count[node] == 0) {
      while (node & 1) node /= 2;  // up, until there is something to the right
      if (node == 0) return size_t(room) + 1;
      ++node;
    }
    while (node < leaves) node = 2 * node + (count[2 * node] == 0);
    return node - leaves;
  };
  for (const uint32_t sample : order) {
    const uint32_t length = lengths[sample];
    size_t left = least(length);
    uint32_t window = 0;
    if (left > room) {
      window = uint32_t(packing.windows());
      packing.begin.push_back(0);
      left = room;
    } else {
      window = with_room[left].back();
      with_room[left].pop_back();
      change(left, -1);
    }
    window_of.push_back(window);
    ++packing.begin[window + 1];
    with_room[left - length].push_back(window);
    change(left - length, 1);
  }
  std::partial_sum(packing.begin.begin(), packing.begin.end(), packing.begin.begin());
  packing.samples.resize(order.size());
  std::vector<uint32_t> next = packing.begin;
  for (size_t i = 0; i < order.size(); ++i) packing.samples[next[window_of[i]]++] = order[i];
  return packing;
}

uint64_t permuted(uint64_t place, uint64_t count, uint64_t seed, uint64_t epoch) {
  if (count < 2) return place;
  const CounterRng random(mix64(seed) ^ epoch, Stream::shuffle);
  // Four rounds of a Feistel network permute [0, 4^half); walking along its cycles stays within [0, count).
  const int half = (std::bit_width(count - 1) + 1) / 2;
  const uint64_t mask = (uint64_t(1) << half) - 1;
  do {
    uint64_t left = place >> half, right = place & mask;
    for (uint64_t round = 0; round < 4; ++round) {
      const uint64_t mixed = left ^ (random.bits(round << 56 | right) & mask);
      left = right;
      right = mixed;
    }
    place = left << half | right;
  } while (place >= count);
  return place;
}

}  // namespace plimsoll
