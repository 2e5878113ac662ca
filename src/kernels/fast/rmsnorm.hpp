#pragma once
#include "kernels/fast/simd.hpp"
#include "kernels/rmsnorm.hpp"

namespace plimsoll::kernels::PLIMSOLL_ISA {
namespace {

inline void rmsnorm(const RmsNorm& a) {
  const float inverse = 1.f / static_cast<float>(a.width);
  for (int64_t row = 0; row < a.rows; ++row) {
    const float* x = a.x + row * a.width;
    float* y = a.y + row * a.width;
    vf squares = {};
    for_lanes(a.width, [&](int64_t i, int n) {
      const vf v = load_lanes(x + i, n);
      squares += v * v;
    });
    const float rstd = 1.f / __builtin_sqrtf(sum(squares) * inverse + a.epsilon);
    for_lanes(a.width, [&](int64_t i, int n) {
      store_lanes(y + i, load_lanes(x + i, n) * rstd * load_lanes(a.gain + i, n), n);
    });
    a.rstd[row] = rstd;
  }
}

// dx = rstd * (g - xhat * mean(g * xhat)) with g = dy * gain
template <bool Partial>
void rmsnorm_backward_as(const RmsNormBackward& a) {
  const float inverse = 1.f / static_cast<float>(a.width);
  if (Partial) memset(a.partial, 0, sizeof(float) * static_cast<size_t>(a.width));
  for (int64_t row = 0; row < a.rows; ++row) {
    const float* x = a.x + row * a.width;
    const float* dy = a.dy + row * a.width;
    const float* addend = a.addend ? a.addend + row * a.width : nullptr;
    float* dx = a.dx + row * a.width;
    const float rstd = a.rstd[row];
    vf sum_gx = {};
    for_lanes(a.width, [&](int64_t i, int n) {
      const vf d = load_lanes(dy + i, n), xhat = load_lanes(x + i, n) * rstd;
      sum_gx += d * load_lanes(a.gain + i, n) * xhat;
      if (Partial) store_lanes(a.partial + i, load_lanes(a.partial + i, n) + d * xhat, n);
    });
    const float mean_gx = sum(sum_gx) * inverse;
    for_lanes(a.width, [&](int64_t i, int n) {
      const vf g = load_lanes(dy + i, n) * load_lanes(a.gain + i, n), xhat = load_lanes(x + i, n) * rstd;
      vf d = rstd * (g - xhat * mean_gx);
      if (addend) d += load_lanes(addend + i, n);
      store_lanes(dx + i, d, n);
    });
  }
}

inline void rmsnorm_backward(const RmsNormBackward& a) {
  a.partial ? rmsnorm_backward_as<true>(a) : rmsnorm_backward_as<false>(a);
}

}  // namespace
}  // namespace plimsoll::kernels::PLIMSOLL_ISA
