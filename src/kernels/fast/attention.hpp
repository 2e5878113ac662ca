// Attention by blocks of queries: the scores [block, keys] are computed, normalized, and used immediately.
#pragma once
#include "kernels/attention.hpp"
#include "kernels/fast/elementwise.hpp"
#include "kernels/fast/gemm.hpp"

namespace plimsoll::kernels::PLIMSOLL_ISA {
namespace {

// C[m, n] = [C +] A B with B's rows contiguous: no packing, no scratch.
FORCE_INLINE void product(int64_t m, int64_t n, int64_t k, const float* a, int64_t a_row, int64_t a_col,
                          const float* b, int64_t b_row, float* c, int64_t c_row, bool accumulate) {
  for (int64_t i = 0; i < m;) {
    const int rows = tile_rows(m - i);
    for (int64_t j = 0; j < n; j += NR) {
      const int64_t width = n - j < NR ? n - j : NR;
      const int vectors = width > W ? 2 : 1;
      const int lanes = static_cast<int>(width - (vectors - 1) * W);
      const Finish f{c + i * c_row + j, c_row, nullptr, nullptr, 0, accumulate};
      const TileFunction run =
          a_col != 1 ? tile_of<true>(rows, vectors, lanes != W) : tile_of<false>(rows, vectors, lanes != W);
      run(k, a + i * a_row, a_col != 1 ? a_col : a_row, b + j, b_row, lanes, f);
    }
    i += rows;
  }
}

// out[width, T] = in[T, width] transposed.
inline void transpose_head(const float* in, int64_t stride, int64_t length, int64_t width, float* out,
                           int64_t out_row) {
  for (int64_t t = 0; t < length; t += W)
    transpose_strip(in + t * stride, stride, static_cast<int>(length - t < W ? length - t : W), width,
                    out + t, out_row);
}

// The first key that any of the queries [q0, q0 + rows) sees.
FORCE_INLINE int64_t first_key_of(const int32_t* positions, int64_t q0, int64_t rows) {
  int64_t low = first_key(positions, q0);
  for (int64_t r = 1; positions && r < rows; ++r) {
    const int64_t first = first_key(positions, q0 + r);
    low = first < low ? first : low;
  }
  return low;
}

inline void attention(const Attention& a, float* scratch) {
  const int64_t padded = (a.length + 63) / 64 * 64;
  float* const kt = scratch;                    // [width, padded]
  float* const s = scratch + a.width * padded;  // [block, padded]
  const float scale = 1.f / __builtin_sqrtf(static_cast<float>(a.width));
  const int64_t block = attention_block(a.length);
  transpose_head(a.k, a.k_row, a.length, a.width, kt, padded);
  for (int64_t q0 = 0; q0 < a.length; q0 += block) {
    const int64_t rows = a.length - q0 < block ? a.length - q0 : block;
    const int64_t low = first_key_of(a.positions, q0, rows), keys = a.causal ? q0 + rows : a.length;
    product(rows, keys - low, a.width, a.q + q0 * a.q_row, a.q_row, 1, kt + low, padded, s + low, padded,
            false);
    for (int64_t r = 0; r < rows; ++r) {
      float* row = s + r * padded;
      const int64_t first = first_key(a.positions, q0 + r), seen = a.causal ? q0 + r + 1 : a.length;
      vf top = splat(-3e38f);
      int64_t i = first;
      for (; i + W <= seen; i += W) top = vmax(top, load(row + i));
      float highest = maximum(top);
      for (; i < seen; ++i) highest = row[i] > highest ? row[i] : highest;
      highest *= scale;
      vf total = {};
      float* const visible = row + first;
      for_lanes(seen - first, [&](int64_t j, int n) {
        vf e = vexp(load_lanes(visible + j, n) * scale - highest);
        store_lanes(visible + j, e, n);
        total += n == W ? e : load_part(visible + j, n);
      });
      const float denominator = sum(total), inverse = 1.f / denominator;
      a.lse[q0 + r] = highest + __builtin_logf(denominator);
      for_lanes(seen - first, [&](int64_t j, int n) {
        vf p = load_lanes(visible + j, n) * inverse;
        if (a.dropout.threshold)
          p *= dropout_mask(a.dropout.key,
                            a.dropout.first + static_cast<uint32_t>((q0 + r) * a.length + first + j),
                            a.dropout.threshold, a.dropout.scale);
        store_lanes(visible + j, p, n);
      });
      for (int64_t j = low; j < first; ++j) row[j] = 0;
      for (int64_t j = seen; j < keys; ++j) row[j] = 0;
    }
    product(rows, a.width, keys - low, s + low, padded, 1, a.v + low * a.v_row, a.v_row,
            a.out + q0 * a.out_row, a.out_row, false);
  }
}

inline void attention_backward(const AttentionBackward& a, float* scratch) {
  const int64_t padded = (a.length + 63) / 64 * 64, block = attention_block(a.length);
  float* const kt = scratch;                // [width, padded]
  float* const vt = kt + a.width * padded;  // [width, padded]
  float* const p = vt + a.width * padded;   // [block, padded]: probabilities
  float* const ds = p + block * padded;     // [block, padded]: gradients of scores
  const float scale = 1.f / __builtin_sqrtf(static_cast<float>(a.width));
  const bool drops = a.dropout.threshold != 0;
  transpose_head(a.k, a.k_row, a.length, a.width, kt, padded);
  transpose_head(a.v, a.v_row, a.length, a.width, vt, padded);
  for (int64_t q0 = 0; q0 < a.length; q0 += block) {
    const int64_t rows = a.length - q0 < block ? a.length - q0 : block;
    const int64_t low = first_key_of(a.positions, q0, rows), keys = a.causal ? q0 + rows : a.length;
    product(rows, keys - low, a.width, a.q + q0 * a.q_row, a.q_row, 1, kt + low, padded, p + low, padded,
            false);
    product(rows, keys - low, a.width, a.dout + q0 * a.out_row, a.out_row, 1, vt + low, padded, ds + low,
            padded, false);
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t t = q0 + r, first = first_key(a.positions, t), seen = a.causal ? t + 1 : a.length;
      float *const prow = p + r * padded, *const drow = ds + r * padded;
      float *const seen_p = prow + first, *const seen_d = drow + first;
      vf dot = {};
      for_lanes(a.width, [&](int64_t i, int n) {
        dot += load_lanes(a.out + t * a.out_row + i, n) * load_lanes(a.dout + t * a.out_row + i, n);
      });
      const float shared = sum(dot), lse = a.lse[t];
      for_lanes(seen - first, [&](int64_t j, int n) {
        const vf probability = vexp(load_lanes(seen_p + j, n) * scale - lse);
        vf dprobability = load_lanes(seen_d + j, n), kept = probability;
        if (drops) {
          const vf mask =
              dropout_mask(a.dropout.key, a.dropout.first + static_cast<uint32_t>(t * a.length + first + j),
                           a.dropout.threshold, a.dropout.scale);
          dprobability *= mask;
          kept *= mask;
        }
        store_lanes(seen_d + j, probability * (dprobability - shared) * scale, n);
        store_lanes(seen_p + j, kept, n);
      });
      for (int64_t j = low; j < first; ++j) prow[j] = drow[j] = 0;
      for (int64_t j = seen; j < keys; ++j) prow[j] = drow[j] = 0;
    }
    product(rows, a.width, keys - low, ds + low, padded, 1, a.k + low * a.k_row, a.k_row,
            a.dq + q0 * a.dq_row, a.dq_row, false);
    // Keys seen for the first time are written; those an earlier block or head has seen are added to.
    const int64_t before = a.accumulate ? keys : a.causal ? q0 : q0 > 0 ? keys : 0, fresh = keys - before;
    const float *q = a.q + q0 * a.q_row, *dout = a.dout + q0 * a.out_row;
    product(before - low, a.width, rows, ds + low, 1, padded, q, a.q_row, a.dk + low * a.dk_row, a.dk_row,
            true);
    product(before - low, a.width, rows, p + low, 1, padded, dout, a.out_row, a.dv + low * a.dv_row, a.dv_row,
            true);
    product(fresh, a.width, rows, ds + before, 1, padded, q, a.q_row, a.dk + before * a.dk_row, a.dk_row,
            false);
    product(fresh, a.width, rows, p + before, 1, padded, dout, a.out_row, a.dv + before * a.dv_row, a.dv_row,
            false);
  }
}

inline void attention_cached(const AttentionCached& a) {
  const float scale = 1.f / __builtin_sqrtf(static_cast<float>(a.width));
  float highest = -3e38f;
  for (int64_t t = 0; t < a.length; ++t) {
    vf dot = {};
    for_lanes(a.width, [&](int64_t i, int n) {
      dot += load_lanes(a.q + i, n) * load_lanes(a.k + t * a.k_row + i, n);
    });
    a.scores[t] = sum(dot) * scale;
    highest = a.scores[t] > highest ? a.scores[t] : highest;
  }
  vf total = {};
  for_lanes(a.length, [&](int64_t i, int n) {
    store_lanes(a.scores + i, vexp(load_lanes(a.scores + i, n) - highest), n);
    total += load_lanes(a.scores + i, n);
  });
  const float inverse = 1.f / sum(total);
  for_lanes(a.width, [&](int64_t i, int n) {
    vf acc = {};
    for (int64_t t = 0; t < a.length; ++t) acc += a.scores[t] * load_lanes(a.v + t * a.v_row + i, n);
    store_lanes(a.out + i, acc * inverse, n);
  });
}

}  // namespace
}  // namespace plimsoll::kernels::PLIMSOLL_ISA
