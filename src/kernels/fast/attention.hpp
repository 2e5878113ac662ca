// Attention by blocks of queries: the scores [block, keys] are computed, normalized, and used immediately.
#pragma once
#include "kernels/attention.hpp"
#include "kernels/fast/elementwise.hpp"
#include "kernels/fast/gemm.hpp"

namespace plimsoll::kernels::PLIMSOLL_ISA {
namespace {

// The right-hand side of a product: B(k, j) is at[j / NR * panel + k * row + j % NR].
struct Panels {
  const float* at;
  int64_t panel, row;
  Panels from_row(int64_t k) const { return {at + k * row, panel, row}; }
  Panels from_panel(int64_t j) const { return {at + j / NR * panel, panel, row}; }
};

// Where the diagonal of causal scores runs through a product, tile by tile: what lies behind it is not computed, because
// nobody reads it or because zeros would be added.
struct Diagonal {
  enum Kind { none, columns, depth, depth_from } kind = none;
  int64_t at = 0;  // row i has columns, or depth, below i + at + 1, or depth from i - at on
};

// C[m, n] = [C +] A B: no packing, no scratch.
FORCE_INLINE void product(int64_t m, int64_t n, int64_t k, const float* a, int64_t a_row, int64_t a_col,
                          Panels b, float* c, int64_t c_row, bool accumulate, Diagonal diagonal = {}) {
  for (int64_t i = 0; i < m;) {
    const int rows = tile_rows(m - i);
    const int64_t past = i + rows + diagonal.at;
    const int64_t columns = diagonal.kind == Diagonal::columns && past < n ? (past + W - 1) / W * W : n;
    const int64_t depth = diagonal.kind == Diagonal::depth && past < k ? past : k;
    const int64_t skip = diagonal.kind == Diagonal::depth_from && i > diagonal.at ? i - diagonal.at : 0;
    for (int64_t j = 0; j < columns; j += NR) {
      const int64_t width = columns - j < NR ? columns - j : NR;
      const int vectors = width > W ? 2 : 1;
      const int lanes = static_cast<int>(width - (vectors - 1) * W);
      const Finish f{c + i * c_row + j, c_row, nullptr, nullptr, 0, accumulate};
      const TileFunction run =
          a_col != 1 ? tile_of<true>(rows, vectors, lanes != W) : tile_of<false>(rows, vectors, lanes != W);
      run(depth - skip, a + i * a_row + skip * a_col, a_col != 1 ? a_col : a_row,
          b.from_row(skip).from_panel(j).at, b.row, lanes, f, nullptr);
    }
    i += rows;
  }
}

// in[T, width] transposed: keys become columns.
inline Panels transposed_panels(const float* in, int64_t row, int64_t length, int64_t width, float* out) {
  pack_b<float>({.b = in, .b_row = 1, .b_col = row}, 0, 0, width, length, out);
  return {out, panel_b(width), NR};
}
// in[count, width]. In a long sequence the rows of a head are many, far apart and in few sets of the cache: there they are
// copied.
inline Panels row_panels(const float* in, int64_t row, int64_t count, int64_t width, bool copy, float* out) {
  if (!copy) return {in, NR, row};
  pack_b<float>({.b = in, .b_row = row, .b_col = 1}, 0, 0, count, width, out);
  return {out, panel_b(count), NR};
}

// At most the first key that any of the queries [q0, q0 + rows) sees.
FORCE_INLINE int64_t first_key_of(const int32_t* positions, int64_t q0, int64_t rows) {
  int64_t low = first_key(positions, q0);
  for (int64_t r = 1; positions && r < rows; ++r) {
    const int64_t first = first_key(positions, q0 + r);
    low = first < low ? first : low;
  }
  return low / NR * NR;  // whole panels
}

// Scores are made, read and written by whole vectors: there is room behind a row, and what is not seen becomes zero.
FORCE_INLINE int64_t whole_vectors(int64_t n) { return (n + W - 1) / W * W; }
FORCE_INLINE void clear(float* row, int64_t begin, int64_t end) {
  for (int64_t j = begin; j < end; ++j) row[j] = 0;
}

// Rows of scores at a time. The steps of one row wait for each other, those of several do not.
constexpr int together = 4;

// Where in the scores of a block the visible ones of R queries are, from query `t` on: `count` of them each. Several queries
// at once begin with the same key and see no fewer than the one before.
template <int R>
struct Seen {
  float* at[R];
  int64_t count[R];
  Seen(const Attention& a, float* row, int64_t padded, int64_t t) {
    each<R>([&](int i) {
      const int64_t first = first_key(a.positions, t + i);
      at[i] = row + i * padded + first;
      count[i] = (a.causal ? t + i + 1 : a.length) - first;
    });
  }
  // Calls body(offset, lanes of each row) over the longest row; lanes may be none, or more than a vector has.
  template <typename Body>
  FORCE_INLINE void each_vector(Body body) const {
    int64_t j = 0;
    int lanes[R];
    each<R>([&](int i) { lanes[i] = W; });
    for (; j + W <= count[0]; j += W) body(j, lanes);
    for (; j < count[R - 1]; j += W) {
      each<R>([&](int i) { lanes[i] = static_cast<int>(count[i] - j); });
      body(j, lanes);
    }
  }
};

// The softmax of R rows of scores, and of each row what its log-sum is made of.
template <int R>
FORCE_INLINE void softmax_rows(const Attention& a, float* row, int64_t padded, int64_t t, float scale,
                               float* highest, float* denominator) {
  const Seen<R> seen(a, row, padded, t);
  vf top[R], total[R] = {};
  each<R>([&](int i) { top[i] = splat(-3e38f); });
  seen.each_vector([&](int64_t j, const int* n) __attribute__((always_inline)) {
    each<R>([&](int i) { top[i] = vmax(top[i], first_lanes(load(seen.at[i] + j), n[i], top[i])); });
  });
  each<R>([&](int i) { highest[i] = maximum(top[i]) * scale; });
  seen.each_vector([&](int64_t j, const int* n) __attribute__((always_inline)) {
    vf e[R];
    each<R>([&](int i) { e[i] = load(seen.at[i] + j) * scale - highest[i]; });
    vexp(e);
    each<R>([&](int i) {
      e[i] = first_lanes(e[i], n[i], vf{});
      store(seen.at[i] + j, e[i]);
      total[i] += e[i];
    });
  });
  float inverse[R];
  each<R>([&](int i) {
    denominator[i] = sum(total[i]);
    inverse[i] = 1.f / denominator[i];
  });
  seen.each_vector([&](int64_t j, const int*) __attribute__((always_inline)) {
    each<R>([&](int i) {
      vf p = load(seen.at[i] + j) * inverse[i];
      if (a.dropout.threshold) {
        const int64_t element = (t + i) * a.length + (seen.at[i] - row - i * padded) + j;
        p *= dropout_mask(a.dropout.key, a.dropout.first + static_cast<uint32_t>(element),
                          a.dropout.threshold, a.dropout.scale);
      }
      store(seen.at[i] + j, p);
    });
  });
}

// Of one row of scores and of gradients of probabilities, the probabilities and the gradients of the scores.
FORCE_INLINE void softmax_row_backward(const AttentionBackward& a, float* prow, float* drow, int64_t t,
                                       float scale) {
  const int64_t first = first_key(a.positions, t), seen = a.causal ? t + 1 : a.length;
  vf dot = {};
  for_lanes(a.width, [&](int64_t i, int n) {
    dot += load_lanes(a.out + t * a.out_row + i, n) * load_lanes(a.dout + t * a.out_row + i, n);
  });
  const float shared = sum(dot), lse = a.lse[t];
  for_lanes(seen - first, [&](int64_t j, int n) {
    const vf probability = first_lanes(vexp(load(prow + first + j) * scale - lse), n, vf{});
    vf dprobability = first_lanes(load(drow + first + j), n, vf{}), kept = probability;
    if (a.dropout.threshold) {
      const vf mask =
          dropout_mask(a.dropout.key, a.dropout.first + static_cast<uint32_t>(t * a.length + first + j),
                       a.dropout.threshold, a.dropout.scale);
      dprobability *= mask;
      kept *= mask;
    }
    store(drow + first + j, probability * (dprobability - shared) * scale);
    store(prow + first + j, kept);
  });
}

// Zeros what of the rows [q0, q0 + rows) of scores, between the keys `low` and `high`, is not seen and not written.
template <typename Operands>
void clear_unseen(const Operands& a, float* scores, int64_t padded, int64_t q0, int64_t rows, int64_t low,
                  int64_t high) {
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t first = first_key(a.positions, q0 + r), seen = a.causal ? q0 + r + 1 : a.length;
    clear(scores + r * padded, low, first);
    clear(scores + r * padded, first + whole_vectors(seen - first), high);
  }
}

inline void attention(const Attention& asked, float* scratch) {
  const Attention a = asked;
  const int64_t padded = attention_row(a.length), block = attention_block(a.length);
  float* const s = scratch;  // [block, padded]
  float* const panels = s + block * padded;
  const float scale = 1.f / __builtin_sqrtf(static_cast<float>(a.width));
  const int64_t all_keys = a.causal ? a.end : a.length;
  const Panels kt = transposed_panels(a.k, a.k_row, all_keys, a.width, panels);
  const Panels v = row_panels(a.v, a.v_row, all_keys, a.width, attention_copies(a.length),
                              panels + attention_panels(a.width, a.length));
  for (int64_t q0 = a.first; q0 < a.end; q0 += block) {
    const int64_t rows = a.end - q0 < block ? a.end - q0 : block;
    const int64_t low = first_key_of(a.positions, q0, rows), keys = a.causal ? q0 + rows : a.length;
    const Diagonal scores{a.causal ? Diagonal::columns : Diagonal::none, q0 - low},
        sums{a.causal ? Diagonal::depth : Diagonal::none, q0 - low};
    product(rows, whole_vectors(keys - low), a.width, a.q + q0 * a.q_row, a.q_row, 1, kt.from_panel(low),
            s + low, padded, false, scores);
    float highest[attention_most_rows], denominator[attention_most_rows];
    int64_t r = 0;
    for (; !a.positions && r + together <= rows; r += together)
      softmax_rows<together>(a, s + r * padded, padded, q0 + r, scale, highest + r, denominator + r);
    for (; r < rows; ++r)
      softmax_rows<1>(a, s + r * padded, padded, q0 + r, scale, highest + r, denominator + r);
    clear_unseen(a, s, padded, q0, rows, low, keys);
    product(rows, a.width, keys - low, s + low, padded, 1, v.from_row(low), a.out + q0 * a.out_row, a.out_row,
            false, sums);
    for (r = 0; r < rows; ++r) a.lse[q0 + r] = highest[r] + __builtin_logf(denominator[r]);
  }
}

inline void attention_backward(const AttentionBackward& asked, float* scratch) {
  const AttentionBackward a = asked;
  const int64_t padded = attention_row(a.length), block = attention_block(a.length);
  const int64_t across = attention_panels(a.width, a.length), within = attention_panels(block, a.width);
  const bool copies = attention_copies(a.length);
  float* const p = scratch;              // [block, padded]: probabilities
  float* const ds = p + block * padded;  // [block, padded]: gradients of scores
  float* const panels = ds + block * padded;
  const float scale = 1.f / __builtin_sqrtf(static_cast<float>(a.width));
  const Panels kt = transposed_panels(a.k, a.k_row, a.length, a.width, panels);
  const Panels vt = transposed_panels(a.v, a.v_row, a.length, a.width, panels + across);
  const Panels k =
      row_panels(a.k + a.column, a.k_row, a.length, a.columns, copies, panels + 2 * across + 2 * within);
  for (int64_t q0 = 0; q0 < a.length; q0 += block) {
    const int64_t rows = a.length - q0 < block ? a.length - q0 : block;
    const int64_t low = first_key_of(a.positions, q0, rows), keys = a.causal ? q0 + rows : a.length;
    const int64_t columns = whole_vectors(keys - low);
    const Diagonal scores{a.causal ? Diagonal::columns : Diagonal::none, q0 - low},
        sums{a.causal ? Diagonal::depth : Diagonal::none, q0 - low};
    product(rows, columns, a.width, a.q + q0 * a.q_row, a.q_row, 1, kt.from_panel(low), p + low, padded,
            false, scores);
    product(rows, columns, a.width, a.dout + q0 * a.out_row, a.out_row, 1, vt.from_panel(low), ds + low,
            padded, false, scores);
    for (int64_t r = 0; r < rows; ++r)
      softmax_row_backward(a, p + r * padded, ds + r * padded, q0 + r, scale);
    clear_unseen(a, p, padded, q0, rows, low, keys);
    clear_unseen(a, ds, padded, q0, rows, low, keys);
    float *const dq = a.dq + a.column, *const dk = a.dk + a.column, *const dv = a.dv + a.column;
    product(rows, a.columns, keys - low, ds + low, padded, 1, k.from_row(low), dq + q0 * a.dq_row, a.dq_row,
            false, sums);
    // Keys seen for the first time are written; those an earlier block or head has seen are added to.
    const int64_t before = a.accumulate ? keys : a.causal ? q0 : q0 > 0 ? keys : 0, fresh = keys - before;
    float* const block_panels = panels + 2 * across;
    const Panels q =
        row_panels(a.q + q0 * a.q_row + a.column, a.q_row, rows, a.columns, copies, block_panels);
    const Panels dout = row_panels(a.dout + q0 * a.out_row + a.column, a.out_row, rows, a.columns, copies,
                                   block_panels + within);
    const auto add_up = [&](int64_t key, int64_t count, bool adds) {
      const Diagonal seen{a.causal ? Diagonal::depth_from : Diagonal::none, q0 - key};
      product(count, a.columns, rows, ds + key, 1, padded, q, dk + key * a.dk_row, a.dk_row, adds, seen);
      product(count, a.columns, rows, p + key, 1, padded, dout, dv + key * a.dv_row, a.dv_row, adds, seen);
    };
    add_up(low, before - low, true);
    add_up(before, fresh, false);
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
