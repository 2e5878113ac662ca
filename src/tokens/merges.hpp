// Byte-pair encoding: neighbouring tokens are joined, the pair of lowest rank first and the leftmost of equal ones,
// until no pair is left that has a rank.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace plimsoll::tokens {

class Merges {
 public:
  // Room for `count` pairs; never more are added.
  explicit Merges(size_t count = 0);
  // A pair that is given again takes the later rank.
  void add(int32_t left, int32_t right, uint32_t rank, int32_t joined);
  // Joins the tokens from `first` on to the end.
  void join(std::vector<int32_t>& tokens, size_t first) const;

 private:
  struct Pair {
    uint64_t key;
    uint32_t rank;
    int32_t joined;
  };
  static constexpr uint32_t no_rank = UINT32_MAX;
  static constexpr uint64_t first_multiplier = 0x9e3779b97f4a7c15ULL;
  size_t home(uint64_t key) const;   // where the walk for a pair begins
  size_t place(uint64_t key) const;  // where it ends: at the pair, or where there is none
  void spread();
  const Pair& find(int32_t left, int32_t right) const;
  size_t join_few(int32_t* tokens, size_t count) const;
  size_t join_many(int32_t* tokens, size_t count) const;

  std::vector<Pair> slots_;  // a power of two; rank no_rank where there is none
  uint64_t multiplier_ = first_multiplier;
};

}  // namespace plimsoll::tokens
