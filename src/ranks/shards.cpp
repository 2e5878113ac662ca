#include "ranks/shards.hpp"

#include <algorithm>
#include <numeric>

namespace plimsoll::ranks {

std::vector<Shard> make_shards(std::span<const int64_t> elements, int ranks) {
  std::vector<Shard> shards(static_cast<size_t>(ranks));
  std::vector<int64_t> owned(shards.size());
  std::vector<size_t> by_load(shards.size());
  for (size_t p = 0; p < elements.size(); ++p) {
    const int64_t blocks = (elements[p] + shard_block - 1) / shard_block;
    std::vector<int64_t> share(shards.size(), blocks / ranks);
    // What cannot be divided goes to those who own least.
    std::iota(by_load.begin(), by_load.end(), size_t{0});
    std::stable_sort(by_load.begin(), by_load.end(), [&](size_t a, size_t b) { return owned[a] < owned[b]; });
    for (int64_t i = 0; i < blocks % ranks; ++i) ++share[by_load[size_t(i)]];
    int64_t begin = 0;
    for (size_t rank = 0; rank < shards.size(); ++rank) {
      const int64_t end = std::min(elements[p], begin + share[rank] * shard_block);
      if (end > begin) shards[rank].push_back({p, begin, end});
      owned[rank] += end - begin;
      begin = end;
    }
  }
  return shards;
}

int64_t elements_of(const Shard& shard) {
  int64_t sum = 0;
  for (const Piece& piece : shard) sum += piece.elements();
  return sum;
}

}  // namespace plimsoll::ranks
