#pragma once
#include "kernels/fast/simd.hpp"
#include "kernels/optimizer.hpp"

namespace plimsoll::kernels::PLIMSOLL_ISA {
namespace {

// A copy of what is asked: what is stored might otherwise change it, and every vector would read all of it again.
inline void adamw(const AdamW& asked) {
  const AdamW a = asked;
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

typedef uint8_t vb __attribute__((vector_size(W)));

FORCE_INLINE vf load_codes(const uint8_t* p, int n) {
  vb codes = {};
  memcpy(&codes, p, static_cast<size_t>(n));
  return __builtin_convertvector(__builtin_convertvector(codes, vi), vf);
}
FORCE_INLINE void store_codes(uint8_t* p, vf x, int n) {
  const vb codes = __builtin_convertvector(__builtin_convertvector(x, vi), vb);
  memcpy(p, &codes, static_cast<size_t>(n));
}
FORCE_INLINE vf magnitude(vf x) { return x < 0.f ? -x : x; }
FORCE_INLINE vf root_of(vf x) { return x > 1.2e-38f ? x * reciprocal_root(x) : vf{}; }
// Rounded down; x is not negative.
FORCE_INLINE vf whole(vf x) { return __builtin_convertvector(__builtin_convertvector(x, vi), vf); }

inline void adamw8(const AdamW8& a) {
  float m[moment_block], v[moment_block];
  for (int64_t start = 0; start < a.step.count; start += moment_block) {
    const int64_t block = start / moment_block,
                  count = a.step.count - start < moment_block ? a.step.count - start : moment_block;
    uint8_t* m_codes = a.m + start;
    uint8_t* v_codes = a.v + start;
    const float m_scale = a.m_scale[block] * (1.f / (127.f * 127.f)), v_scale = a.v_scale[block];
    for_lanes(count, [&](int64_t i, int n) {
      const vf c = load_codes(m_codes + i, n) - 128.f, r = load_codes(v_codes + i, n) * (1.f / 255.f);
      store_lanes(m + i, c * magnitude(c) * m_scale, n);
      store_lanes(v + i, r * r * (r * r) * v_scale, n);
    });
    AdamW step = a.step;
    step.count = count, step.m = m, step.v = v;
    step.parameter += start, step.gradient += start;
    adamw(step);
    vf m_most = {}, v_most = {};
    for_lanes(count, [&](int64_t i, int n) {
      m_most = vmax(magnitude(load_lanes(m + i, n)), m_most);
      v_most = vmax(load_lanes(v + i, n), v_most);
    });
    const float smallest = 1.2e-38f, most_m = maximum(m_most), most_v = maximum(v_most);
    a.m_scale[block] = most_m > smallest ? most_m : 0;
    a.v_scale[block] = most_v > smallest ? most_v : 0;
    const float over_m = most_m > smallest ? 1 / most_m : 0, over_v = most_v > smallest ? 1 / most_v : 0;
    for_lanes(count, [&](int64_t i, int n) {
      const vu h = hash_lanes(a.key, a.first + static_cast<uint32_t>(start + i));
      const vf up_m = __builtin_convertvector((vi)(h >> 16), vf) * 0x1p-16f,
               up_v = __builtin_convertvector((vi)(h & 0xffff), vf) * 0x1p-16f;
      const vf x = load_lanes(m + i, n), y = load_lanes(v + i, n);
      const vf c = whole(root_of(magnitude(x) * over_m) * 127.f + up_m);
      const vf r = whole(root_of(root_of(y * over_v)) * 255.f + up_v);
      const vf limited = c > 127.f ? splat(127.f) : c;
      store_codes(m_codes + i, x < 0.f ? 128.f - limited : 128.f + limited, n);
      store_codes(v_codes + i, y > 0.f ? (r > 255.f ? splat(255.f) : r < 1.f ? splat(1.f) : r) : vf{}, n);
    });
  }
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
