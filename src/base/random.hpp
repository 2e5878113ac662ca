// Counter-based random numbers: a value is a pure function of (seed, stream, counter), so a generator's whole
// state is one integer and any element can be drawn without drawing those before it.
#pragma once
#include <cstdint>

namespace plimsoll {

// Streams keep uses apart: two consumers of one seed never see the same numbers.
enum class Stream : uint64_t {
  weights = 1,
  windows = 2,
  dropout = 3,
  sampling = 4,
  grammar = 5,
  shuffle = 6,
  pictures = 7
};

constexpr uint64_t mix64(uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  x ^= x >> 32;
  return x;
}

class CounterRng {
 public:
  CounterRng(uint64_t seed, Stream stream)
      : key_(mix64(seed ^ mix64(static_cast<uint64_t>(stream) * 0x9e3779b97f4a7c15ULL))) {}

  uint64_t bits(uint64_t counter) const { return mix64(key_ + mix64(counter + 0x9e3779b97f4a7c15ULL)); }
  // Uniform in [0, 1) with 53 bits.
  double uniform(uint64_t counter) const { return static_cast<double>(bits(counter) >> 11) * 0x1p-53; }
  // Uniform in [0, n), without modulo bias worth measuring (n well below 2^32).
  uint64_t below(uint64_t counter, uint64_t n) const {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(bits(counter)) * n) >> 64);
  }
  // Standard normal (Box-Muller; two uniforms from two derived counters).
  double normal(uint64_t counter) const;

 private:
  uint64_t key_;
};

}  // namespace plimsoll
