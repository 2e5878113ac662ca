// Half-precision numbers against the definition of the formats, computed in double.
#include "tensor/half.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.hpp"
#include "tensor/finite.hpp"

namespace plimsoll {
namespace {

// Sign, exponent and mantissa of a 16-bit format, read as the standard says.
double value(uint16_t bits, int exponent_bits) {
  const int mantissa_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1,
            exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1);
  const double mantissa = bits & ((1 << mantissa_bits) - 1), sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return mantissa == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

TEST(Half, WidensEveryNumberExactlyAndNarrowsItBack) {
  for (uint32_t i = 0; i < 65536; ++i) {
    const auto bits = uint16_t(i);
    const float b = widen(bf16{bits}), h = widen(f16{bits});
    if (std::isnan(value(bits, 8)))
      EXPECT_TRUE(std::isnan(b) && std::isnan(widen(narrow_to_bf16(b)))) << i;
    else
      EXPECT_TRUE(double(b) == value(bits, 8) && narrow_to_bf16(b).bits == bits) << i;
    if (std::isnan(value(bits, 5)))
      EXPECT_TRUE(std::isnan(h) && std::isnan(widen(narrow_to_f16(h)))) << i;
    else
      EXPECT_TRUE(double(h) == value(bits, 5) && narrow_to_f16(h).bits == bits) << i;
  }
}

// The nearest of the two neighbours, the one with an even last bit where both are as near.
TEST(Half, NarrowingRoundsToTheNearest) {
  const CounterRng rng(1, Stream::weights);
  for (uint64_t i = 0; i < 200'000; ++i) {
    const auto below = uint16_t(rng.below(2 * i, 0x7c00 - 1));  // finite, positive
    for (const bool half : {false, true}) {
      auto widened_as = [&](uint16_t bits) { return half ? widen(f16{bits}) : widen(bf16{bits}); };
      const double low = widened_as(below), high = widened_as(uint16_t(below + 1));
      const double share = i % 3 ? double(rng.uniform(2 * i + 1)) : 0.5;
      const auto x = float(low + share * (high - low));
      const double middle = (low + high) / 2;
      const uint16_t expected = double(x) < middle   ? below
                                : double(x) > middle ? uint16_t(below + 1)
                                : below % 2 == 0     ? below
                                                     : uint16_t(below + 1);
      EXPECT_EQ(half ? narrow_to_f16(x).bits : narrow_to_bf16(x).bits, expected) << x << " " << half;
      EXPECT_EQ(half ? narrow_to_f16(-x).bits : narrow_to_bf16(-x).bits, expected | 0x8000)
          << x << " " << half;
    }
  }
  EXPECT_EQ(narrow_to_f16(65520.f).bits, 0x7c00);  // half-way to what would follow the largest
  EXPECT_EQ(narrow_to_f16(65519.99f).bits, 0x7bff);
}

TEST(Half, FiniteOrNotInEveryDtype) {
  float f[3] = {1, -2, 3};
  uint16_t b[3] = {0x3f80, 0x7f7f, 0}, h[3] = {0x3c00, 0x7bff, 0};
  EXPECT_TRUE(all_finite(f, DType::f32, 3) && all_finite(b, DType::bf16, 3) && all_finite(h, DType::f16, 3));
  f[2] = NAN, b[1] = 0xff80, h[0] = 0x7e00;
  EXPECT_TRUE(all_finite(f, DType::f32, 2));
  EXPECT_FALSE(all_finite(f, DType::f32, 3) || all_finite(b, DType::bf16, 3) || all_finite(h, DType::f16, 3));
  EXPECT_TRUE(all_finite(h, DType::i32, 1));
}

}  // namespace
}  // namespace plimsoll
