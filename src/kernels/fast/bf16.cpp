// Matrix products of operands rounded to bf16, with sums in f32, by AVX512-BF16. Both operands are packed as pairs of
// neighbours along k, since one instruction adds the two products of a pair to a sum. Every element of C is summed over k in
// the same order regardless of the tiling, so splitting a product among threads does not change its bits.
#include "kernels/gemm/bf16.hpp"

#include "kernels/fast/gemm.hpp"

namespace plimsoll::kernels::PLIMSOLL_ISA {
namespace {

typedef uint32_t pair __attribute__((may_alias));  // two neighbours along k, the first in the lower half

constexpr int64_t most_pairs = 192;  // of a packed block
constexpr int64_t row_of_pairs =
    most_pairs + W;                     // from one row of packed A to the next, where k is contiguous in A
constexpr int64_t columns_packed = NC;  // of B
constexpr int64_t a_pairs = W * row_of_pairs;  // room for a tile of A
constexpr int64_t b_panel(int64_t pairs) {
  return (pairs | 1) * NR;
}  // pairs from one panel of B to the next
static_assert(b_panel(most_pairs) * columns_packed / NR + a_pairs <=
              static_cast<int64_t>(gemm_scratch_floats));
static_assert(most_pairs * W <= a_pairs);

FORCE_INLINE __m512i load_pairs(const pair* p) { return _mm512_loadu_si512(p); }
FORCE_INLINE void store_pairs(pair* p, __m512i v) { _mm512_storeu_si512(p, v); }

// Up to 16 numbers of one k and of the next, rounded and zipped.
FORCE_INLINE __m512i zipped(vf first, vf second) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7,
                                         22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  const __m512bh both = _mm512_cvtne2ps_pbh((__m512)second, (__m512)first);
  return _mm512_maskz_permutexvar_epi16(~__mmask32{0}, order, (__m512i)both);
}
// Up to 32 numbers along k, rounded: 16 pairs. What lies beyond `left` is zero.
FORCE_INLINE __m512i rounded(const float* from, int64_t left) {
  const vf low = load_lanes(from, static_cast<int>(left < W ? left : W));
  const int64_t rest = left - W;
  const vf high = rest > 0 ? load_lanes(from + W, static_cast<int>(rest < W ? rest : W)) : vf{};
  return (__m512i)_mm512_cvtne2ps_pbh((__m512)high, (__m512)low);
}

// Rows of numbers `row` apart, one for each k: `count` <= 16 of them from `from` on become a vector of pairs for every two k.
FORCE_INLINE void pack_across(const float* from, int64_t row, int64_t depth, int count, pair* out,
                              int64_t step) {
  for (int64_t k = 0; k < depth; k += 2, from += 2 * row, out += step)
    store_pairs(out, zipped(load_lanes(from, count), k + 1 < depth ? load_lanes(from + row, count) : vf{}));
}

void pack_b_pairs(const Gemm& g, int64_t k0, int64_t j0, int64_t depth, int64_t columns, pair* out) {
  const float* in = static_cast<const float*>(g.b) + k0 * g.b_row + j0 * g.b_col;
  const int64_t pairs = (depth + 1) / 2;
  for (int64_t j = 0; j < columns; j += W) {
    const int count = static_cast<int>(columns - j < W ? columns - j : W);
    pair* to = out + j / NR * b_panel(pairs) + j % NR;
    if (g.b_col == 1) {
      pack_across(in + j, g.b_row, depth, count, to, NR);
      continue;
    }
    for (int64_t k = 0; k < depth; k += 2 * W) {
      vf r[W];
#pragma GCC unroll 16
      for (int i = 0; i < W; ++i)
        r[i] = i < count ? (vf)rounded(in + (j + i) * g.b_col + k, depth - k) : vf{};
      transpose(r);
      const int64_t rows = pairs - k / 2 < W ? pairs - k / 2 : W;
      for (int64_t i = 0; i < rows; ++i) store_pairs(to + (k / 2 + i) * NR, (__m512i)r[i]);
    }
  }
}

// A tile of A: [row][pair] where k is contiguous in A, otherwise [pair][row].
void pack_a_pairs(const float* a, const Gemm& g, int64_t depth, int rows, pair* out) {
  if (g.a_col != 1) return pack_across(a, g.a_col, depth, rows, out, W);
  for (int i = 0; i < rows; ++i)
    for (int64_t k = 0; k < depth; k += 2 * W)
      store_pairs(out + i * row_of_pairs + k / 2, rounded(a + i * g.a_row + k, depth - k));
}

template <int rows, int vectors, bool Across>
void pair_tile(int64_t pairs, const pair* a, const pair* b, int lanes, const Finish& f) {
  __m512 acc[rows][vectors];
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) acc[i][v] = _mm512_setzero_ps();
  for (int64_t k = 0; k < pairs; ++k, b += NR) {
    __m512bh bv[vectors];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) bv[v] = (__m512bh)load_pairs(b + v * W);
    __builtin_prefetch(b + 8 * NR);
    __builtin_prefetch(b + 8 * NR + W);
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
      const auto av =
          (__m512bh)_mm512_set1_epi32(static_cast<int>(Across ? a[k * W + i] : a[i * row_of_pairs + k]));
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) acc[i][v] = _mm512_dpbf16_ps(acc[i][v], av, bv[v]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      const int n = v == vectors - 1 ? lanes : W;
      store_lanes(f.c + i * f.c_row + v * W, finish_lanes((vf)acc[i][v], f, i, v * W, n), n);
    }
}

using PairTile = void (*)(int64_t, const pair*, const pair*, int, const Finish&);

template <int vectors, bool Across>
PairTile pair_tile_of(int rows) {
  static constexpr PairTile table[] = {
      pair_tile<1, vectors, Across>,  pair_tile<2, vectors, Across>,  pair_tile<3, vectors, Across>,
      pair_tile<4, vectors, Across>,  pair_tile<5, vectors, Across>,  pair_tile<6, vectors, Across>,
      pair_tile<7, vectors, Across>,  pair_tile<8, vectors, Across>,  pair_tile<9, vectors, Across>,
      pair_tile<10, vectors, Across>, pair_tile<11, vectors, Across>, pair_tile<12, vectors, Across>,
      pair_tile<13, vectors, Across>, pair_tile<14, vectors, Across>};
  return table[rows - 1];
}

}  // namespace

void bf16_product(const Gemm& g, float* scratch) {
  // One row is a matter of reading B, which is f32: nothing is gained by rounding it.
  if (g.m == 1) return gemm_as<float>(g, scratch);
  auto* const b_pairs = reinterpret_cast<pair*>(scratch);
  const int64_t blocks = (g.k + 2 * most_pairs - 1) / (2 * most_pairs);
  const int64_t block = ((g.k + blocks - 1) / blocks + 1) / 2 * 2;
  for (int64_t k0 = 0; k0 < g.k; k0 += block) {
    const int64_t depth = g.k - k0 < block ? g.k - k0 : block, pairs = (depth + 1) / 2;
    const bool last = k0 + depth == g.k;
    for (int64_t j0 = 0; j0 < g.n; j0 += columns_packed) {
      const int64_t columns = g.n - j0 < columns_packed ? g.n - j0 : columns_packed;
      pack_b_pairs(g, k0, j0, depth, columns, b_pairs);
      pair* const a_tile = b_pairs + (columns + NR - 1) / NR * b_panel(pairs);
      for (int64_t i = 0; i < g.m;) {
        const int rows = tile_rows(g.m - i);
        pack_a_pairs(g.a + i * g.a_row + k0 * g.a_col, g, depth, rows, a_tile);
        for (int64_t j = 0; j < columns; j += NR) {
          const int64_t width = columns - j < NR ? columns - j : NR, column = j0 + j;
          const int vectors = width > W ? 2 : 1;
          const Finish f{g.c + i * g.c_row + column,
                         g.c_row,
                         last && g.bias ? g.bias + column : nullptr,
                         last && g.addend ? g.addend + i * g.addend_row + column : nullptr,
                         g.addend_row,
                         g.accumulate || k0 > 0};
          const PairTile run =
              g.a_col != 1 ? (vectors == 2 ? pair_tile_of<2, true>(rows) : pair_tile_of<1, true>(rows))
                           : (vectors == 2 ? pair_tile_of<2, false>(rows) : pair_tile_of<1, false>(rows));
          run(pairs, a_tile, b_pairs + j / NR * b_panel(pairs), static_cast<int>(width - (vectors - 1) * W),
              f);
        }
        i += rows;
      }
    }
  }
}

}  // namespace plimsoll::kernels::PLIMSOLL_ISA
