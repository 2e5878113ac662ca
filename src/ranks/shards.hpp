// Which rank owns which elements of the trained parameters: it adds up their gradient, keeps their moments and updates
// them. A pure function of the sizes and the number of ranks. Every rank has a share of every parameter that is large enough, so
// that all of them have something to add up whichever gradient is complete. Parameters are cut at multiples of `shard_block`
// elements, so that sums of squares and the blocks of 8-bit moments are never divided.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace plimsoll::ranks {

constexpr int64_t shard_block = 1 << 16;

// Elements [begin, end) of a parameter, which is known by its number.
struct Piece {
  size_t parameter = 0;
  int64_t begin = 0, end = 0;
  int64_t elements() const { return end - begin; }
  bool operator==(const Piece&) const = default;
};
using Shard = std::vector<Piece>;  // at most one piece of each parameter, in their order

// By rank; a shard may be empty where there are fewer blocks than ranks.
std::vector<Shard> make_shards(std::span<const int64_t> elements, int ranks);
int64_t elements_of(const Shard& shard);

}  // namespace plimsoll::ranks
