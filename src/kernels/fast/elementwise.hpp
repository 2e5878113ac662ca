#pragma once
#include "kernels/elementwise.hpp"
#include "kernels/fast/simd.hpp"

namespace plimsoll::kernels::PLIMSOLL_ISA {
namespace {

constexpr float gelu_scale = 0.7978845608028654f;  // sqrt(2 / pi)
constexpr float gelu_cubic = 0.044715f;

// gelu(x) = x * sigmoid(2 u), u = scale * (x + cubic x^3): the tanh form without a tanh.
struct Sigmoid {
  vf value, rest;  // s and 1 - s, each to full precision
};
FORCE_INLINE Sigmoid gelu_sigmoid(vf x) {
  const vf u = gelu_scale * x * (1.f + gelu_cubic * x * x);
  const vf e = vexp(-2.f * u), s = reciprocal(1.f + e);
  return {s, e * s};
}

inline void gelu(const Gelu& a) {
  for_lanes(a.count, [&](int64_t i, int n) {
    const vf x = load_lanes(a.x + i, n);
    store_lanes(a.y + i, x * gelu_sigmoid(x).value, n);
  });
}

inline void gelu_backward(const GeluBackward& a) {
  for_lanes(a.count, [&](int64_t i, int n) {
    const vf x = load_lanes(a.x + i, n);
    const auto [s, rest] = gelu_sigmoid(x);
    const vf slope = gelu_scale * (1.f + 3.f * gelu_cubic * x * x);
    store_lanes(a.dx + i, load_lanes(a.dy + i, n) * (s + 2.f * x * s * rest * slope), n);
  });
}

FORCE_INLINE Sigmoid sigmoid(vf x) {
  const vf e = vexp(-x), s = reciprocal(1.f + e);
  return {s, e * s};
}

inline void swiglu(const SwiGlu& a) {
  for_lanes(a.count, [&](int64_t i, int n) {
    const vf gate = load_lanes(a.gate + i, n);
    store_lanes(a.y + i, gate * sigmoid(gate).value * load_lanes(a.up + i, n), n);
  });
}

inline void swiglu_backward(const SwiGluBackward& a) {
  for_lanes(a.count, [&](int64_t i, int n) {
    const vf gate = load_lanes(a.gate + i, n), up = load_lanes(a.up + i, n), dy = load_lanes(a.dy + i, n);
    const auto [s, rest] = sigmoid(gate);
    store_lanes(a.dgate + i, dy * up * s * (1.f + gate * rest), n);
    store_lanes(a.dup + i, dy * gate * s, n);
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
