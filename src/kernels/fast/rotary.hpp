#pragma once
#include "kernels/fast/simd.hpp"
#include "kernels/rotary.hpp"

namespace plimsoll::kernels::PLIMSOLL_ISA {
namespace {

inline void rotary(const Rotary& a) {
  const int64_t half = a.width / 2;
  const float sign = a.back ? -1.f : 1.f;
  for (int64_t row = 0; row < a.rows; ++row) {
    const float* cosine = a.angles + (a.first + row) % a.lines * a.width;
    for (int64_t head = 0; head < a.heads; ++head) {
      const float* x = a.x + row * a.x_row + head * a.width;
      float* y = a.y + row * a.y_row + head * a.width;
      for_lanes(half, [&](int64_t i, int n) {
        const vf one = load_lanes(x + i, n), other = load_lanes(x + half + i, n);
        const vf c = load_lanes(cosine + i, n), s = load_lanes(cosine + half + i, n) * sign;
        store_lanes(y + i, one * c - other * s, n);
        store_lanes(y + half + i, other * c + one * s, n);
      });
    }
  }
}

}  // namespace
}  // namespace plimsoll::kernels::PLIMSOLL_ISA
