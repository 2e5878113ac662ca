#pragma once
#include "kernels/fast/simd.hpp"
#include "kernels/optimizer.hpp"

namespace plimsoll::kernels::PLIMSOLL_ISA {
namespace {

inline void adamw(const AdamW& a) {
  for_lanes(a.count, [&](int64_t i, int n) {
    const vf g = load_lanes(a.gradient + i, n) * a.gradient_scale;
    const vf m = a.beta1 * load_lanes(a.m + i, n) + (1.f - a.beta1) * g;
    const vf v = a.beta2 * load_lanes(a.v + i, n) + (1.f - a.beta2) * g * g;
    store_lanes(a.m + i, m, n);
    store_lanes(a.v + i, v, n);
    const vf p = load_lanes(a.parameter + i, n) * a.keep;
    // The root of v as v / sqrt(v); v below the smallest normal number counts as zero.
    const vf root = v > 1.2e-38f ? v * reciprocal_root(v) : vf{};
    store_lanes(a.parameter + i, p - a.rate * m * reciprocal(root * a.correction2 + a.epsilon), n);
  });
}

// Sums blocks of 1024 in single precision, the blocks in double.
inline double sum_squares(const SumSquares& a) {
  double total = 0;
  for (int64_t start = 0; start < a.count; start += 1024) {
    const int64_t count = a.count - start < 1024 ? a.count - start : 1024;
    vf acc = {};
    for_lanes(count, [&](int64_t i, int n) {
      const vf x = load_lanes(a.x + start + i, n);
      acc += x * x;
    });
    total += sum(acc);
  }
  return total;
}

}  // namespace
}  // namespace plimsoll::kernels::PLIMSOLL_ISA
