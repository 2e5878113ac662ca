#include "tokens/merges.hpp"

#include <algorithm>
#include <bit>
#include <functional>

namespace plimsoll::tokens {
namespace {

uint64_t pair_key(int32_t left, int32_t right) { return uint64_t(uint32_t(left)) << 32 | uint32_t(right); }
// Longer than any walk among pairs that were not chosen to collide: at half load a million take some 70 steps at most.
constexpr size_t longest_walk = 1024;

}  // namespace

Merges::Merges(size_t count) : slots_(std::bit_ceil(2 * count + 2), Pair{0, no_rank, -1}) {}

size_t Merges::home(uint64_t key) const {
  key *= multiplier_;
  return (key ^ key >> 32) & (slots_.size() - 1);
}

size_t Merges::place(uint64_t key) const {
  size_t at = home(key);
  while (slots_[at].rank != no_rank && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
  return at;
}

const Merges::Pair& Merges::find(int32_t left, int32_t right) const {
  return slots_[place(pair_key(left, right))];
}

void Merges::add(int32_t left, int32_t right, uint32_t rank, int32_t joined) {
  const uint64_t key = pair_key(left, right);
  const size_t at = place(key);
  slots_[at] = {key, rank, joined};
  if (((at - home(key)) & (slots_.size() - 1)) > longest_walk) spread();
}

// Pairs that collide under one multiplier cannot be chosen to collide under another as well: there are too few.
void Merges::spread() {
  if (multiplier_ != first_multiplier) return;
  multiplier_ = 0xd1342543de82ef95ULL;
  std::vector<Pair> pairs(slots_.size(), Pair{0, no_rank, -1});
  pairs.swap(slots_);
  for (const Pair& pair : pairs)
    if (pair.rank != no_rank) slots_[place(pair.key)] = pair;
}

void Merges::join(std::vector<int32_t>& tokens, size_t first) const {
  constexpr size_t few = 32;
  const size_t count = tokens.size() - first;
  if (count < 2) return;
  int32_t* const begin = tokens.data() + first;
  tokens.resize(first + (count <= few ? join_few(begin, count) : join_many(begin, count)));
}

// Looks at all pairs for every join: the quickest for a word.
size_t Merges::join_few(int32_t* tokens, size_t count) const {
  Pair pairs[32];  // of a token with the next one
  for (size_t i = 0; i + 1 < count; ++i) pairs[i] = find(tokens[i], tokens[i + 1]);
  while (count > 1) {
    size_t least = 0;
    for (size_t i = 1; i + 1 < count; ++i)
      if (pairs[i].rank < pairs[least].rank) least = i;
    if (pairs[least].rank == no_rank) break;
    tokens[least] = pairs[least].joined;
    std::move(tokens + least + 2, tokens + count, tokens + least + 1);
    if (least + 2 < count) std::move(pairs + least + 2, pairs + count - 1, pairs + least + 1);
    --count;
    if (least > 0) pairs[least - 1] = find(tokens[least - 1], tokens[least]);
    if (least + 1 < count) pairs[least] = find(tokens[least], tokens[least + 1]);
  }
  return count;
}

// A heap of candidates: n log n, whatever the text is.
size_t Merges::join_many(int32_t* tokens, size_t count) const {
  constexpr uint32_t none = UINT32_MAX;
  struct Link {
    uint32_t before, after;
  };
  std::vector<Link> links(count);
  std::vector<uint64_t> heap;  // rank, then place
  const auto push = [&](uint32_t place) {
    if (place == none || links[place].after == none) return;
    const Pair& pair = find(tokens[place], tokens[links[place].after]);
    if (pair.rank == no_rank) return;
    heap.push_back(uint64_t(pair.rank) << 32 | place);
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  };
  for (uint32_t i = 0; i < count; ++i) links[i] = {i ? i - 1 : none, i + 1 < count ? i + 1 : none};
  for (uint32_t i = 0; i < count; ++i) push(i);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const uint64_t candidate = heap.back();
    heap.pop_back();
    const auto place = uint32_t(candidate);
    if (tokens[place] < 0 || links[place].after == none) continue;  // joined meanwhile
    const uint32_t gone = links[place].after;
    const Pair& pair = find(tokens[place], tokens[gone]);
    if (pair.rank != uint32_t(candidate >> 32)) continue;
    tokens[place] = pair.joined;
    tokens[gone] = -1;
    links[place].after = links[gone].after;
    if (links[gone].after != none) links[links[gone].after].before = place;
    push(links[place].before);
    push(place);
  }
  return size_t(std::remove(tokens, tokens + count, -1) - tokens);
}

}  // namespace plimsoll::tokens
