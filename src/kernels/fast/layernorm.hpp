#pragma once
#include "kernels/fast/simd.hpp"
#include "kernels/layernorm.hpp"

namespace plimsoll::kernels::PLIMSOLL_ISA {
namespace {

inline void layernorm(const LayerNorm& a) {
  const float inverse = 1.f / static_cast<float>(a.width);
  for (int64_t row = 0; row < a.rows; ++row) {
    const float* x = a.x + row * a.width;
    float* y = a.y + row * a.width;
    vf total = {};
    for_lanes(a.width, [&](int64_t i, int n) { total += load_lanes(x + i, n); });
    const float mean = sum(total) * inverse;
    vf squares = {};
    for_lanes(a.width, [&](int64_t i, int n) {
      vf d = load_lanes(x + i, n) - mean;
      if (n != W) {  // lanes beyond the row hold -mean: leave them out
        float lane[W];
        store(lane, d);
        d = load_part(lane, n);
      }
      squares += d * d;
    });
    const float rstd = 1.f / __builtin_sqrtf(sum(squares) * inverse + a.epsilon);
    for_lanes(a.width, [&](int64_t i, int n) {
      store_lanes(
          y + i, (load_lanes(x + i, n) - mean) * rstd * load_lanes(a.gain + i, n) + load_lanes(a.bias + i, n),
          n);
    });
    a.mean[row] = mean;
    a.rstd[row] = rstd;
  }
}

// dx = rstd * (g - mean(g) - xhat * mean(g * xhat)) with g = dy * gain
template <bool Partial>
void layernorm_backward_as(const LayerNormBackward& a) {
  const float inverse = 1.f / static_cast<float>(a.width);
  float* dgain = a.partial;
  float* dbias = Partial ? a.partial + a.width : nullptr;
  if (Partial) memset(a.partial, 0, sizeof(float) * static_cast<size_t>(2 * a.width));
  for (int64_t row = 0; row < a.rows; ++row) {
    const float* x = a.x + row * a.width;
    const float* dy = a.dy + row * a.width;
    const float* addend = a.addend ? a.addend + row * a.width : nullptr;
    float* dx = a.dx + row * a.width;
    const float mean = a.mean[row], rstd = a.rstd[row];
    vf sum_g = {}, sum_gx = {};
    for_lanes(a.width, [&](int64_t i, int n) {
      const vf d = load_lanes(dy + i, n), g = d * load_lanes(a.gain + i, n);
      const vf xhat = (load_lanes(x + i, n) - mean) * rstd;
      sum_g += g;
      sum_gx += g * xhat;
      if (!Partial) return;
      store_lanes(dgain + i, load_lanes(dgain + i, n) + d * xhat, n);
      store_lanes(dbias + i, load_lanes(dbias + i, n) + d, n);
    });
    const float mean_g = sum(sum_g) * inverse, mean_gx = sum(sum_gx) * inverse;
    for_lanes(a.width, [&](int64_t i, int n) {
      const vf g = load_lanes(dy + i, n) * load_lanes(a.gain + i, n);
      const vf xhat = (load_lanes(x + i, n) - mean) * rstd;
      vf d = rstd * (g - mean_g - xhat * mean_gx);
      if (addend) d += load_lanes(addend + i, n);
      store_lanes(dx + i, d, n);
    });
  }
}

inline void layernorm_backward(const LayerNormBackward& a) {
  a.partial ? layernorm_backward_as<true>(a) : layernorm_backward_as<false>(a);
}

}  // namespace
}  // namespace plimsoll::kernels::PLIMSOLL_ISA
