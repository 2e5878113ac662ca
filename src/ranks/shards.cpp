#include "ranks/shards.hpp"

#include <algorithm>

namespace plimsoll::ranks {

std::vector<Shard> make_shards(std::span<const int64_t> elements, int ranks) {
  int64_t all = 0, done = 0;
  for (int64_t count : elements) all += count;
  std::vector<Shard> shards(static_cast<size_t>(ranks));
  for (size_t p = 0; p < elements.size(); ++p)
    for (int64_t begin = 0; begin < elements[p]; begin += shard_block) {
      const int64_t end = std::min(elements[p], begin + shard_block);
      // The rank in whose equal share the middle of the block lies.
      const double middle = double(done) + double(end - begin) / 2;
      Shard& shard = shards[std::min(size_t(ranks) - 1, size_t(middle / double(all) * ranks))];
      done += end - begin;
      if (!shard.empty() && shard.back().parameter == p)
        shard.back().end = end;
      else
        shard.push_back({p, begin, end});
    }
  return shards;
}

int64_t elements_of(const Shard& shard) {
  int64_t sum = 0;
  for (const Piece& piece : shard) sum += piece.elements();
  return sum;
}

}  // namespace plimsoll::ranks
