#pragma once
#include "kernels/fast/simd.hpp"
#include "kernels/loss.hpp"

namespace plimsoll::kernels::PLIMSOLL_ISA {
namespace {

inline void cross_entropy(const CrossEntropy& a) {
  for (int64_t r = 0; r < a.rows; ++r) {
    float* x = a.logits + r * a.row_stride;
    const int64_t row = a.first_row + r;
    const int32_t target = a.targets[row / a.per_line * a.line_stride + row % a.per_line];
    if (target < 0) {
      a.losses[r] = 0;
      if (a.gradient) memset(x, 0, sizeof(float) * static_cast<size_t>(a.classes));
      continue;
    }
    vf top = splat(-3e38f);
    int64_t i = 0;
    for (; i + W <= a.classes; i += W) top = vmax(top, load(x + i));
    float highest = maximum(top);
    for (; i < a.classes; ++i) highest = x[i] > highest ? x[i] : highest;
    const float wanted = x[target];
    vf total = {};
    for_lanes(a.classes, [&](int64_t j, int n) {
      store_lanes(x + j, vexp(load_lanes(x + j, n) - highest), n);
      total += load_lanes(x + j, n);
    });
    const float denominator = sum(total);
    a.losses[r] = __builtin_logf(denominator) + highest - wanted;
    if (!a.gradient) continue;
    const float scale = a.weights ? a.scale * a.weights[row] : a.scale;
    const float factor = scale / denominator;
    for_lanes(a.classes, [&](int64_t j, int n) { store_lanes(x + j, load_lanes(x + j, n) * factor, n); });
    x[target] -= scale;
  }
}

}  // namespace
}  // namespace plimsoll::kernels::PLIMSOLL_ISA
