// The few numerical functions that sampling needs, without the mathematics library, and the clock.
#pragma once
#include <time.h>

#include <cstdint>
#include <cstring>

namespace plimsoll::heap {

inline uint64_t monotonic_nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1000000000u + uint64_t(now.tv_nsec);
}

// ln x for positive normal x, to about 1e-8.
inline double natural_logarithm(double x) {
  uint64_t bits;
  std::memcpy(&bits, &x, 8);
  const int exponent = int(bits >> 52) - 1023;
  bits = (bits & 0xfffffffffffffull) | (1023ull << 52);
  double mantissa;
  std::memcpy(&mantissa, &bits, 8);
  const double s = (mantissa - 1) / (mantissa + 1), q = s * s;
  return exponent * 0.6931471805599453 +
         2 * s *
             (1 + q * (1.0 / 3 + q * (1.0 / 5 + q * (1.0 / 7 + q * (1.0 / 9 + q * (1.0 / 11 + q / 13))))));
}

// 1 - exp(-x) for x >= 0: the chance that x mean intervals hold a sample.
inline double chance_of_sample(double x) {
  if (x >= 32) return 1;
  const double y = x / 64;
  double power = 1 - y * (1 - y / 2 * (1 - y / 3 * (1 - y / 4 * (1 - y / 5 * (1 - y / 6)))));
  for (int i = 0; i < 6; ++i) power *= power;
  return x < 1e-4 ? x * (1 - x / 2) : 1 - power;
}

// xorshift64*, uniform in (0, 1].
inline double uniform(uint64_t& state) {
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return (double((state * 0x2545f4914f6cdd1dull) >> 11) + 1) * 0x1p-53;
}

inline uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
  return hash ^ (hash >> 29);
}

}  // namespace plimsoll::heap
