// Vectors of floats at the width this translation unit is compiled for. Only files under kernels/fast include this;
// each of them is compiled once per instruction set, inside the namespace PLIMSOLL_ISA, so nothing here may leak out:
// no std templates that the linker could merge across instruction sets.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tensor/dtype.hpp"
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace plimsoll::kernels::PLIMSOLL_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int W = 16;
#elif defined(__AVX2__)
constexpr int W = 8;
#else
constexpr int W = 4;
#endif

typedef float vf __attribute__((vector_size(W * 4)));
typedef int32_t vi __attribute__((vector_size(W * 4)));
typedef uint32_t vu __attribute__((vector_size(W * 4)));
typedef uint16_t vh __attribute__((vector_size(W * 2)));  // as many half-precision numbers as vf has floats
typedef uint16_t vh_loose __attribute__((vector_size(W * 2), aligned(2), may_alias));
typedef float vf_loose __attribute__((vector_size(W * 4), aligned(4), may_alias));

#define FORCE_INLINE inline __attribute__((always_inline))

FORCE_INLINE vf load(const float* p) { return *reinterpret_cast<const vf_loose*>(p); }
FORCE_INLINE void store(float* p, vf v) { *reinterpret_cast<vf_loose*>(p) = v; }
FORCE_INLINE vf splat(float x) { return x - vf{}; }

// The first n (0 < n <= W) lanes; the others read as zero and are never touched in memory.
FORCE_INLINE vf load_part(const float* p, int n) {
#if defined(__AVX512F__)
  return (vf)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p);
#elif defined(__AVX2__)
  const vi lane = {0, 1, 2, 3, 4, 5, 6, 7};
  return (vf)_mm256_maskload_ps(p, (__m256i)(lane < n));
#else
  vf v = {};
  for (int i = 0; i < n; ++i) v[i] = p[i];
  return v;
#endif
}
FORCE_INLINE void store_part(float* p, vf v, int n) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)v);
#elif defined(__AVX2__)
  // By halves: a masked store takes tens of cycles on AMD's processors.
  __m128 rest = _mm256_castps256_ps128((__m256)v);
  if (n & 8) return store(p, v);
  if (n & 4) {
    _mm_storeu_ps(p, rest);
    rest = _mm256_extractf128_ps((__m256)v, 1);
    p += 4;
  }
  if (n & 2) {
    _mm_storel_pi(reinterpret_cast<__m64*>(p), rest);
    rest = _mm_movehl_ps(rest, rest);
    p += 2;
  }
  if (n & 1) _mm_store_ss(p, rest);
#else
  for (int i = 0; i < n; ++i) p[i] = v[i];
#endif
}
// The first n lanes of v, the others those of `rest`.
FORCE_INLINE vf first_lanes(vf v, int n, vf rest) {
  if (n == W) return v;
  vi lane;
  for (int i = 0; i < W; ++i) lane[i] = i;
  return lane < n ? v : rest;
}

// The processor's own maximum and minimum: the second operand where the two are equal or one is NaN.
FORCE_INLINE vf vmax(vf a, vf b) {
#if defined(__AVX512F__)
  return (vf)_mm512_maskz_max_ps(0xffff, (__m512)a, (__m512)b);
#elif defined(__AVX2__)
  return (vf)_mm256_max_ps((__m256)a, (__m256)b);
#else
  return a > b ? a : b;
#endif
}
FORCE_INLINE vf vmin(vf a, vf b) {
#if defined(__AVX512F__)
  return (vf)_mm512_maskz_min_ps(0xffff, (__m512)a, (__m512)b);
#elif defined(__AVX2__)
  return (vf)_mm256_min_ps((__m256)a, (__m256)b);
#else
  return a < b ? a : b;
#endif
}

// Sums in a fixed tree order, so a result depends on the width alone.
FORCE_INLINE float sum(vf v) {
  for (int half = W / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) v[i] += v[i + half];
  return v[0];
}
FORCE_INLINE float maximum(vf v) {
  for (int half = W / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) v[i] = v[i] > v[i + half] ? v[i] : v[i + half];
  return v[0];
}

// Calls body(offset, lanes) over [0, n): full vectors first, then one partial.
template <typename Body>
FORCE_INLINE void for_lanes(int64_t n, Body body) {
  int64_t i = 0;
  for (; i + W <= n; i += W) body(i, W);
  if (i < n) body(i, static_cast<int>(n - i));
}
FORCE_INLINE vf load_lanes(const float* p, int n) { return n == W ? load(p) : load_part(p, n); }

// Half-precision numbers, widened as they are read.
FORCE_INLINE vf widened(vh h, bf16) { return (vf)(__builtin_convertvector(h, vu) << 16); }
FORCE_INLINE vf widened(vh h, f16) {
#if defined(__AVX512F__)
  return (vf)_mm512_maskz_cvtph_ps(0xffff, (__m256i)h);
#elif defined(__F16C__)
  return (vf)_mm256_cvtph_ps((__m128i)h);
#else
  // As an f32 the bits are the number times 2^-112; the product is exact. Infinity and NaN keep their bits, NaN quiet.
  const vu wide = __builtin_convertvector(h, vu), sign = (wide & 0x8000) << 16, rest = (wide & 0x7fff) << 13;
  const vu number = (vu)((vf)rest * 0x1p112f);
  const vu beyond = rest | 0x7f800000, quiet = beyond | 0x400000;
  return (vf)(sign | (rest < 0x0f800000 ? number : rest == 0x0f800000 ? beyond : quiet));
#endif
}
template <typename Half>
FORCE_INLINE vf load_lanes(const Half* p, int n) {
  vh h = {};
  if (n == W)
    h = *reinterpret_cast<const vh_loose*>(p);
  else
    for (int i = 0; i < n; ++i) h[i] = p[i].bits;
  return widened(h, Half{});
}
template <typename Half>
FORCE_INLINE vf load(const Half* p) {
  return load_lanes(p, W);
}
FORCE_INLINE void store_lanes(float* p, vf v, int n) { n == W ? store(p, v) : store_part(p, v, n); }

// Calls body(Group<G>, offset, lanes) over [0, n): several full vectors at a time first, then one at a time. The steps of a
// function such as e^x wait for each other; those of several vectors do not, and hide it.
template <int G>
struct Group {};
template <typename Body>
FORCE_INLINE void for_groups(int64_t n, Body body) {
  constexpr int G = 4;
  int64_t i = 0;
  for (; i + G * W <= n; i += G * W) body(Group<G>{}, i, W);
  for_lanes(n - i, [&](int64_t j, int lanes) { body(Group<1>{}, i + j, lanes); });
}
// Calls body(i) for the vectors of a group, each step for all of them before the next.
template <int G, typename Body>
FORCE_INLINE void each(Body body) {
#pragma GCC unroll 8
  for (int i = 0; i < G; ++i) body(i);
}

// e^x to about 1 ulp for x in [-87, 88]; below gives 0, above is clamped, NaN stays NaN. Cody-Waite reduction, degree 6.
template <int G>
FORCE_INLINE void vexp(vf (&x)[G]) {
  const vf low = splat(-87.3f), high = splat(88.3f);
  const vf magic = splat(12582912.f);  // 1.5 * 2^23: adding it rounds to the nearest integer
  vf n[G], r[G], p[G];
  each<G>([&](int i) { r[i] = vmax(low, x[i]); });
  each<G>([&](int i) { r[i] = vmin(high, r[i]); });
  each<G>([&](int i) { n[i] = (r[i] * 1.44269504f + magic) - magic; });
  each<G>([&](int i) { r[i] = (r[i] - n[i] * 0.693359375f) - n[i] * -2.12194440e-4f; });
  each<G>([&](int i) { p[i] = splat(1.f / 720.f) * r[i] + 1.f / 120.f; });
  each<G>([&](int i) { p[i] = p[i] * r[i] + 1.f / 24.f; });
  each<G>([&](int i) { p[i] = p[i] * r[i] + 1.f / 6.f; });
  each<G>([&](int i) { p[i] = p[i] * r[i] + 0.5f; });
  each<G>([&](int i) { p[i] = p[i] * r[i] + 1.f; });
  each<G>([&](int i) { p[i] = p[i] * r[i] + 1.f; });
  each<G>([&](int i) {
    const vi scale = (__builtin_convertvector(n[i], vi) + 127) << 23;
    x[i] = x[i] < low ? vf{} : p[i] * (vf)scale;
  });
}
FORCE_INLINE vf vexp(vf x) {
  vf alone[] = {x};
  vexp(alone);
  return alone[0];
}

// 1 / x and 1 / sqrt(x) to about 1 ulp, for positive normal x: the processor's estimate and one Newton step,
// several times faster than its division and root.
FORCE_INLINE vf reciprocal(vf x) {
#if defined(__AVX512F__)
  const vf r = (vf)_mm512_maskz_rcp14_ps(0xffff, (__m512)x);
#elif defined(__AVX2__)
  const vf r = (vf)_mm256_rcp_ps((__m256)x);
#else
  const vf r = 1.f / x;
#endif
  return r * (2.f - x * r);
}
FORCE_INLINE vf reciprocal_root(vf x) {
#if defined(__AVX512F__)
  const vf r = (vf)_mm512_maskz_rsqrt14_ps(0xffff, (__m512)x);
#elif defined(__AVX2__)
  const vf r = (vf)_mm256_rsqrt_ps((__m256)x);
#else
  vf r;
  for (int i = 0; i < W; ++i) r[i] = 1.f / __builtin_sqrtf(x[i]);
#endif
  return r * (1.5f - 0.5f * x * r * r);
}

}  // namespace
}  // namespace plimsoll::kernels::PLIMSOLL_ISA
