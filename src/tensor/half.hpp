// Half-precision numbers to and from f32. Widening is exact; narrowing rounds to the nearest, ties to even.
#pragma once
#include <bit>

#include "tensor/dtype.hpp"

namespace plimsoll {

inline float widen(float x) { return x; }
inline float widen(bf16 x) { return std::bit_cast<float>(uint32_t{x.bits} << 16); }
inline float widen(f16 x) {
  const uint32_t sign = uint32_t(x.bits & 0x8000) << 16, rest = uint32_t(x.bits & 0x7fff) << 13;
  if (rest >= 0x0f800000)  // infinity, or NaN made quiet
    return std::bit_cast<float>(sign | 0x7f800000 | rest | (rest > 0x0f800000 ? 0x400000 : 0));
  // As an f32 the bits are the number times 2^-112; the product is exact, subnormal or not.
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(std::bit_cast<float>(rest) * 0x1p112f));
}

inline bf16 narrow_to_bf16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7fffffff) > 0x7f800000) return {static_cast<uint16_t>(bits >> 16 | 0x40)};
  return {static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
inline f16 narrow_to_f16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
  if (rest > 0x7f800000) return {static_cast<uint16_t>(sign | 0x7e00)};
  if (rest >= 0x477ff000) return {static_cast<uint16_t>(sign | 0x7c00)};  // rounds to infinity
  if (rest < 0x38800000) {  // subnormal: adding 0.5 leaves the result, rounded, in the lowest bits
    const float shifted = std::bit_cast<float>(rest) + 0.5f;
    return {static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000))};
  }
  return {static_cast<uint16_t>(sign | ((rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13))};
}

// Element i of numbers of a floating-point dtype.
inline float widened(const void* data, DType dtype, int64_t i) {
  if (dtype == DType::bf16) return widen(static_cast<const bf16*>(data)[i]);
  if (dtype == DType::f16) return widen(static_cast<const f16*>(data)[i]);
  return static_cast<const float*>(data)[i];
}
inline void narrow(float x, void* data, DType dtype, int64_t i) {
  if (dtype == DType::bf16)
    static_cast<bf16*>(data)[i] = narrow_to_bf16(x);
  else if (dtype == DType::f16)
    static_cast<f16*>(data)[i] = narrow_to_f16(x);
  else
    static_cast<float*>(data)[i] = x;
}

}  // namespace plimsoll
