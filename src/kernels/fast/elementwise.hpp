#pragma once
#include "kernels/elementwise.hpp"
#include "kernels/fast/simd.hpp"

namespace plimsoll::kernels::PLIMSOLL_ISA {
namespace {

constexpr float gelu_scale = 0.7978845608028654f;  // sqrt(2 / pi)
constexpr float gelu_cubic = 0.044715f;

// s = sigmoid(x) and rest = 1 - s, each to full precision.
template <int G>
FORCE_INLINE void sigmoid(const vf (&x)[G], vf (&s)[G], vf (&rest)[G]) {
  each<G>([&](int i) { rest[i] = -x[i]; });
  vexp(rest);
  each<G>([&](int i) { s[i] = reciprocal(1.f + rest[i]); });
  each<G>([&](int i) { rest[i] = rest[i] * s[i]; });
}
// gelu(x) = x * sigmoid(2 u), u = scale * (x + cubic x^3): the tanh form without a tanh.
template <int G>
FORCE_INLINE void gelu_sigmoid(const vf (&x)[G], vf (&s)[G], vf (&rest)[G]) {
  vf u[G];
  each<G>([&](int i) { u[i] = gelu_scale * x[i] * (1.f + gelu_cubic * x[i] * x[i]); });
  each<G>([&](int i) { u[i] = 2.f * u[i]; });
  sigmoid(u, s, rest);
}
template <int G>
FORCE_INLINE void load_group(vf (&to)[G], const float* from, int n) {
  each<G>([&](int i) { to[i] = load_lanes(from + i * W, n); });
}

// The derivative of gelu, s and rest being those of gelu_sigmoid(x).
FORCE_INLINE vf gelu_slope(vf x, vf s, vf rest) {
  const vf slope = gelu_scale * (1.f + 3.f * gelu_cubic * x * x);
  return s + 2.f * x * s * rest * slope;
}

template <bool Slope>
void gelu_as(const Gelu& asked) {
  const Gelu a = asked;
  for_groups(
      a.count, [&]<int G>(Group<G>, int64_t i, int n) __attribute__((always_inline)) {
        vf x[G], s[G], rest[G];
        load_group(x, a.x + i, n);
        gelu_sigmoid(x, s, rest);
        each<G>([&](int j) { store_lanes(a.y + i + j * W, x[j] * s[j], n); });
        if (Slope)
          each<G>([&](int j) { store_lanes(a.slope + i + j * W, gelu_slope(x[j], s[j], rest[j]), n); });
      });
}
inline void gelu(const Gelu& a) { a.slope ? gelu_as<true>(a) : gelu_as<false>(a); }

inline void gelu_backward(const GeluBackward& asked) {
  const GeluBackward a = asked;
  for_groups(
      a.count, [&]<int G>(Group<G>, int64_t i, int n) __attribute__((always_inline)) {
        vf x[G], s[G], rest[G];
        load_group(x, a.x + i, n);
        gelu_sigmoid(x, s, rest);
        each<G>([&](int j) {
          const vf slope = gelu_slope(x[j], s[j], rest[j]);
          store_lanes(a.dx + i + j * W, load_lanes(a.dy + i + j * W, n) * slope, n);
        });
      });
}

inline void swiglu(const SwiGlu& asked) {
  const SwiGlu a = asked;
  for_groups(
      a.count, [&]<int G>(Group<G>, int64_t i, int n) __attribute__((always_inline)) {
        vf gate[G], s[G], rest[G];
        load_group(gate, a.gate + i, n);
        sigmoid(gate, s, rest);
        each<G>([&](int j) {
          store_lanes(a.y + i + j * W, gate[j] * s[j] * load_lanes(a.up + i + j * W, n), n);
        });
      });
}

inline void swiglu_backward(const SwiGluBackward& asked) {
  const SwiGluBackward a = asked;
  for_groups(
      a.count, [&]<int G>(Group<G>, int64_t i, int n) __attribute__((always_inline)) {
        vf gate[G], s[G], rest[G];
        load_group(gate, a.gate + i, n);
        sigmoid(gate, s, rest);
        each<G>([&](int j) {
          const vf up = load_lanes(a.up + i + j * W, n), dy = load_lanes(a.dy + i + j * W, n);
          store_lanes(a.dgate + i + j * W, dy * up * s[j] * (1.f + gate[j] * rest[j]), n);
          store_lanes(a.dup + i + j * W, dy * gate[j] * s[j], n);
        });
      });
}

inline void scale(const Scale& a) {
  for_lanes(a.count, [&](int64_t i, int n) { store_lanes(a.y + i, load_lanes(a.x + i, n) * a.factor, n); });
}

// dropout_hash(key, first + lane)
FORCE_INLINE vu hash_lanes(uint32_t key, uint32_t first) {
  vu h;
  for (int i = 0; i < W; ++i) h[i] = first + static_cast<uint32_t>(i);
  h = h * 0x9e3779b1u ^ key;
  h ^= h >> 16;
  h *= 0x85ebca6bu;
  h ^= h >> 13;
  h *= 0xc2b2ae35u;
  h ^= h >> 16;
  return h;
}

// `scale` where hash(key, first + lane) >= threshold, else 0.
FORCE_INLINE vf dropout_mask(uint32_t key, uint32_t first, uint32_t threshold, float scale) {
  return hash_lanes(key, first) >= threshold ? splat(scale) : vf{};
}

inline void dropout(const Dropout& a) {
  for_lanes(a.count, [&](int64_t i, int n) {
    vf y = load_lanes(a.x + i, n) *
           dropout_mask(a.key, a.first + static_cast<uint32_t>(i), a.threshold, a.scale);
    if (a.addend) y += load_lanes(a.addend + i, n);
    store_lanes(a.y + i, y, n);
  });
}

// Rows are added in order for every column; several vectors of columns at a time keep the adders busy.
inline void column_sum(const ColumnSum& a) {
  constexpr int wide = 8;
  int64_t j = 0;
  for (; j + wide * W <= a.columns; j += wide * W) {
    vf acc[wide] = {};
    for (int64_t row = 0; row < a.rows; ++row)
#pragma GCC unroll 8
      for (int v = 0; v < wide; ++v) acc[v] += load(a.x + row * a.row_stride + j + v * W);
#pragma GCC unroll 8
    for (int v = 0; v < wide; ++v)
      store(a.y + j + v * W, a.accumulate ? load(a.y + j + v * W) + acc[v] : acc[v]);
  }
  for_lanes(a.columns - j, [&](int64_t i, int n) {
    vf acc = {};
    for (int64_t row = 0; row < a.rows; ++row) acc += load_lanes(a.x + row * a.row_stride + j + i, n);
    store_lanes(a.y + j + i, a.accumulate ? load_lanes(a.y + j + i, n) + acc : acc, n);
  });
}

inline void add(const Add& a) {
  for_lanes(a.count, [&](int64_t i, int n) {
    store_lanes(a.y + i, load_lanes(a.a + i, n) + load_lanes(a.b + i, n), n);
  });
}

inline void multiply(const Multiply& a) {
  for_lanes(a.count, [&](int64_t i, int n) {
    store_lanes(a.y + i, load_lanes(a.a + i, n) * load_lanes(a.b + i, n), n);
  });
}

template <typename Element>
void widen_as(const Widen& a) {
  const auto* x = static_cast<const Element*>(a.x);
  for_lanes(a.count, [&](int64_t i, int n) { store_lanes(a.y + i, load_lanes(x + i, n), n); });
}
inline void widen(const Widen& a) {
  if (a.type == DType::bf16) return widen_as<bf16>(a);
  if (a.type == DType::f16) return widen_as<f16>(a);
  widen_as<float>(a);
}

}  // namespace
}  // namespace plimsoll::kernels::PLIMSOLL_ISA
