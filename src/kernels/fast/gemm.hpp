// Register-blocked matrix product. A tile of MR rows by up to two vectors of columns stays in registers while
// k runs. B is packed into panels as wide as the tile when that is faster; A is packed only if its layout
// requires it. Every element of C is summed over k in the same order regardless of the tiling, so splitting a
// product among threads does not change its bits (a part has at least two rows, or the only one).
#pragma once
#include "kernels/fast/simd.hpp"
#include "kernels/gemm.hpp"

namespace plimsoll::kernels::PLIMSOLL_ISA {
namespace {

constexpr int NR = 2 * W;                          // columns in a tile
constexpr int MR = W == 16 ? 14 : W == 8 ? 6 : 4;  // rows in a tile: 2 * MR accumulators fill the registers
constexpr int64_t KC = 384;                        // depth of a packed block: MR x KC stays in L1
constexpr int64_t NC =
    W == 16 ? 256 : 192;  // columns of a packed block: KC x NC stays in L2 (512 KB with AVX2)
constexpr int64_t far = W == 16 ? 192 : 64;  // depth from which fetching what comes next costs nothing

// Rows of the next tile where so many are left: the last two share what remains.
FORCE_INLINE int tile_rows(int64_t left) {
  return static_cast<int>(left <= MR ? left : left < 2 * MR ? (left + 1) / 2 : MR);
}

// What happens to a finished tile.
struct Finish {
  float* c;
  int64_t c_row;
  const float* bias;
  const float* addend;
  int64_t addend_row;
  bool accumulate;
};

FORCE_INLINE vf finish_lanes(vf v, const Finish& f, int64_t row, int64_t column, int lanes) {
  if (f.accumulate) v += load_lanes(f.c + row * f.c_row + column, lanes);
  if (f.bias) v += load_lanes(f.bias + column, lanes);
  if (f.addend) v += load_lanes(f.addend + row * f.addend_row + column, lanes);
  return v;
}

// One tile of `rows` by `vectors` vectors, the last of which has `lanes` columns. With UnitRow, A(i, k) is
// a[i + k * step] (packed or transposed A), otherwise a[i * step + k]. With Packs, the columns of B it reads are put into
// the panel `packed` for the tiles that follow, which costs next to nothing beside the products.
template <int rows, int vectors, bool UnitRow, bool Partial, bool Packs = false>
void tile(int64_t depth, const float* a, int64_t step, const float* b, int64_t b_row, int lanes,
          const Finish& f, float* packed = nullptr) {
  vf acc[rows][vectors] = {};
  if (depth >= far) {
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
      __builtin_prefetch(f.c + i * f.c_row, 1);
      if (vectors == 2) __builtin_prefetch(f.c + i * f.c_row + NR - 1, 1);
    }
  }
  // Rows in threes share a pointer: p, p + step and p + 2 step are one address mode each.
  constexpr int groups = (rows + 2) / 3;
  const float* p[groups];
  if (!UnitRow)
    for (int g = 0; g < groups; ++g) p[g] = a + 3 * g * step;
  for (int64_t k = 0; k < depth; ++k) {
    vf bv[vectors];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v)
      bv[v] = Partial && v == vectors - 1 ? load_part(b + v * W, lanes) : load(b + v * W);
    if (Packs) {
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) store(packed + v * W, bv[v]);
      packed += NR;
    }
    __builtin_prefetch(b + (Packs ? 16 : 8) * b_row);                    // packed panels stream from L2
    if (vectors == 2 && NR > 16) __builtin_prefetch(b + 8 * b_row + W);  // 16 floats are a cache line
    b += b_row;
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
      const vf av = splat(UnitRow ? a[i] : p[i / 3][(i % 3) * step]);
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) acc[i][v] += av * bv[v];
    }
    if (UnitRow) {
      a += step;
    } else {
#pragma GCC unroll 16
      for (int g = 0; g < groups; ++g) ++p[g];
    }
  }
  // What is added comes one kind at a time, so that each is tested once a tile.
  const auto each = [&](auto body) __attribute__((always_inline)) {
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i)
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) body(i, v, acc[i][v]);
  };
  const auto lanes_of = [&](const float* p, int v) __attribute__((always_inline)) {
    return Partial && v == vectors - 1 ? load_part(p + v * W, lanes) : load(p + v * W);
  };
  if (f.accumulate) each([&](int i, int v, vf& x) { x += lanes_of(f.c + i * f.c_row, v); });
  if (f.bias) {
    vf bias[vectors];
    for (int v = 0; v < vectors; ++v) bias[v] = lanes_of(f.bias, v);
    each([&](int, int v, vf& x) { x += bias[v]; });
  }
  if (f.addend) each([&](int i, int v, vf& x) { x += lanes_of(f.addend + i * f.addend_row, v); });
  each([&](int i, int v, vf& x) {
    float* to = f.c + i * f.c_row + v * W;
    Partial&& v == vectors - 1 ? store_part(to, x, lanes) : store(to, x);
  });
}

using TileFunction = void (*)(int64_t, const float*, int64_t, const float*, int64_t, int, const Finish&,
                              float*);

template <int vectors, bool UnitRow, bool Partial>
TileFunction tile_of(int rows) {
#define TILE(n) tile<((n) <= MR ? (n) : MR), vectors, UnitRow, Partial>
  static constexpr TileFunction table[] = {TILE(1),  TILE(2),  TILE(3),  TILE(4), TILE(5),
                                           TILE(6),  TILE(7),  TILE(8),  TILE(9), TILE(10),
                                           TILE(11), TILE(12), TILE(13), TILE(14)};
#undef TILE
  return table[rows - 1];
}
template <bool UnitRow>
TileFunction tile_of(int rows, int vectors, bool partial) {
  if (partial) return vectors == 2 ? tile_of<2, UnitRow, true>(rows) : tile_of<1, UnitRow, true>(rows);
  return vectors == 2 ? tile_of<2, UnitRow, false>(rows) : tile_of<1, UnitRow, false>(rows);
}

#if defined(__AVX512F__)
#define ZIP_LOW 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define ZIP_HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#else
#define ZIP_LOW 0, 4, 1, 5
#define ZIP_HIGH 2, 6, 3, 7
#endif

// Transposes a W x W block in registers by log2(W) rounds of zipping halves.
#if defined(__AVX2__) && !defined(__AVX512F__)
// AVX2 zips within halves of a vector, at one instruction each; the halves change places last.
FORCE_INLINE void transpose(vf (&r)[W]) {
  vf pairs[W], fours[W];
#pragma GCC unroll 4
  for (int i = 0; i < W; i += 2) {
    pairs[i] = __builtin_shufflevector(r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    pairs[i + 1] = __builtin_shufflevector(r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
#pragma GCC unroll 2
  for (int i = 0; i < W; i += 4)
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) {
      const vf a = pairs[i + j], b = pairs[i + j + 2];
      fours[i + 2 * j] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
      fours[i + 2 * j + 1] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    }
#pragma GCC unroll 4
  for (int i = 0; i < W / 2; ++i) {
    r[i] = __builtin_shufflevector(fours[i], fours[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    r[i + 4] = __builtin_shufflevector(fours[i], fours[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}
#else
FORCE_INLINE void transpose(vf (&r)[W]) {
#pragma GCC unroll 4
  for (int round = 1; round < W; round *= 2) {
    vf t[W];
#pragma GCC unroll 8
    for (int i = 0; i < W / 2; ++i) {
      t[2 * i] = __builtin_shufflevector(r[i], r[i + W / 2], ZIP_LOW);
      t[2 * i + 1] = __builtin_shufflevector(r[i], r[i + W / 2], ZIP_HIGH);
    }
#pragma GCC unroll 16
    for (int i = 0; i < W; ++i) r[i] = t[i];
  }
}
#endif
#undef ZIP_LOW
#undef ZIP_HIGH

// out[k * out_row + j] = in[j * in_row + k] for j < columns <= W, k < depth; columns beyond are zero up to W.
template <typename Element>
void transpose_strip(const Element* in, int64_t in_row, int columns, int64_t depth, float* out,
                     int64_t out_row) {
  for (int64_t k = 0; k < depth; k += W) {
    const int lanes = static_cast<int>(depth - k < W ? depth - k : W);
    vf r[W];
    if (k % 16 == 0)
#pragma GCC unroll 16
      for (int j = 0; j < W; ++j) __builtin_prefetch(in + (W + j) * in_row + k);
#pragma GCC unroll 16
    for (int j = 0; j < W; ++j) r[j] = j < columns ? load_lanes(in + j * in_row + k, lanes) : vf{};
    transpose(r);
    for (int i = 0; i < lanes; ++i) store(out + (k + i) * out_row, r[i]);
  }
}

// Floats from one panel of B to the next: an odd number of cache lines, or panels that are written side by side would
// share the same few sets of the cache.
constexpr int64_t panel_b(int64_t depth) { return (depth | 1) * NR; }

// Packs B[k0.., j0..] of depth x columns into panels NR wide, zero beyond the last column. Where its rows are contiguous
// they are read whole, one after the other, as memory likes it. Half-precision elements are widened on the way.
template <typename Element>
void pack_b(const Gemm& g, int64_t k0, int64_t j0, int64_t depth, int64_t columns, float* out) {
  const Element* in = static_cast<const Element*>(g.b) + k0 * g.b_row + j0 * g.b_col;
  const int64_t panels = (columns + NR - 1) / NR;
  if (g.b_col != 1) {
    for (int64_t j = 0; j < panels * NR; j += W) {
      const int64_t left = columns - j;
      transpose_strip(in + j * g.b_col, g.b_col,
                      static_cast<int>(left < 0   ? 0
                                       : left < W ? left
                                                  : W),
                      depth, out + j / NR * panel_b(depth) + j % NR, NR);
    }
    return;
  }
  const int64_t whole = columns / NR * NR;
  for (int64_t k = 0; k < depth; ++k, in += g.b_row, out += NR) {
    float* to = out;
    for (int64_t j = 0; j < whole; j += NR, to += panel_b(depth)) {
      store(to, load(in + j));
      store(to + W, load(in + j + W));
    }
    if (whole < columns) {
      const int last = static_cast<int>(columns - whole), first = last < W ? last : W;
      store(to, load_lanes(in + whole, first));
      store(to + W, last > W ? load_lanes(in + whole + W, last - W) : vf{});
    }
  }
}

// Packs rows of a transposed A (unit row stride) into panels of MR rows, k stepping by MR. `readable` floats lie behind the
// first of each k. Whole vectors are stored (AVX2's masked stores take tens of cycles): what one writes too far the next
// replaces, and after a panel's last there is room. Several panels at once read whole cache lines.
constexpr int panels_a = W == 16 ? 1 : 8;
constexpr int64_t panel_a(int64_t depth) { return MR * depth + NR; }  // floats from one panel to the next
static_assert(panel_b(KC) * NC / NR + panels_a * panel_a(KC) <= static_cast<int64_t>(gemm_scratch_floats));

template <int panels>
void pack_a_whole(const float* a, int64_t a_col, int64_t depth, float* out) {
  constexpr int vectors = (MR + W - 1) / W;
  const int64_t next = panel_a(depth);
  for (int64_t k = 0; k < depth; ++k, a += a_col, out += MR)
#pragma GCC unroll 8
    for (int p = 0; p < panels; ++p)
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) store(out + p * next + v * W, load(a + p * MR + v * W));
}
// Packs the next tiles of the `left` rows that remain, at most panels_a of them; their number.
inline int pack_a(const float* a, int64_t a_col, int64_t left, int64_t depth, float* out) {
  constexpr int64_t vector_rows = (MR + W - 1) / W * W;
  if (left >= (panels_a + 1) * MR && left >= (panels_a - 1) * MR + vector_rows) {
    pack_a_whole<panels_a>(a, a_col, depth, out);
    return panels_a;
  }
  int tiles = 0;
  for (; tiles < panels_a && left > 0; ++tiles, out += panel_a(depth)) {
    const int rows = tile_rows(left);
    if (left >= vector_rows)
      pack_a_whole<1>(a, a_col, depth, out);
    else
      for (int64_t k = 0; k < depth; ++k)
        for_lanes(rows, [&](int64_t r, int lanes) {
          store(out + k * MR + r, load_lanes(a + k * a_col + r, lanes));
        });
    a += rows;
    left -= rows;
  }
  return tiles;
}

// One row of A: every number of B is used once, so this is a matter of reading B as it lies in memory.
template <typename Element>
void row_product(const Gemm& g) {
  const auto* const whole = static_cast<const Element*>(g.b);
  const Finish f{g.c, g.c_row, g.bias, g.addend, g.addend_row, g.accumulate};
  if (g.b_col == 1) {
    constexpr int wide = 4;  // vectors of columns at a time: several rows of B stream in parallel
    for (int64_t j = 0; j < g.n; j += wide * W) {
      vf acc[wide] = {};
      const int64_t left = g.n - j;
      if (left >= wide * W) {
        for (int64_t k = 0; k < g.k; ++k)
#pragma GCC unroll 4
          for (int v = 0; v < wide; ++v) acc[v] += g.a[k] * load(whole + k * g.b_row + j + v * W);
      } else {
        for (int64_t k = 0; k < g.k; ++k)
          for (int v = 0; v * W < left; ++v)
            acc[v] += g.a[k] * load_lanes(whole + k * g.b_row + j + v * W,
                                          static_cast<int>(left - v * W < W ? left - v * W : W));
      }
      for (int v = 0; v < wide && v * W < left; ++v) {
        const int lanes = static_cast<int>(left - v * W < W ? left - v * W : W);
        store_lanes(g.c + j + v * W, finish_lanes(acc[v], f, 0, j + v * W, lanes), lanes);
      }
    }
    return;
  }
  for (int64_t j = 0; j < g.n; ++j) {
    const Element* b = whole + j * g.b_col;
    vf acc[4] = {};
    int64_t k = 0;
    for (; k + 4 * W <= g.k; k += 4 * W)
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) acc[v] += load(g.a + k + v * W) * load(b + k + v * W);
    for_lanes(g.k - k,
              [&](int64_t i, int n) { acc[0] += load_lanes(g.a + k + i, n) * load_lanes(b + k + i, n); });
    float sum_of_products = sum((acc[0] + acc[1]) + (acc[2] + acc[3]));
    if (g.accumulate) sum_of_products += g.c[j];
    if (g.bias) sum_of_products += g.bias[j];
    if (g.addend) sum_of_products += g.addend[j];
    g.c[j] = sum_of_products;
  }
}

template <typename Element>
void gemm_as(const Gemm& g, float* scratch) {
  constexpr bool widens = sizeof(Element) < sizeof(float);
  if (g.m == 1 && g.a_col == 1) return row_product<Element>(g);
  // Packing costs a pass over B: it pays where many rows of A use it, or where B is too large to be read in place.
  const bool packs_b = widens || g.b_col != 1 || g.m > 10 * MR || (g.m > 3 * MR && g.k * g.n > (1 << 17));
  const bool packs_along = packs_b && !widens && g.b_col == 1 && g.m >= 2 * MR && g.k * g.b_row <= (1 << 18);
  const bool unit_row = g.a_col != 1;  // A transposed
  const bool packs_a = unit_row && g.n > 4 * NR && g.k > 128;
  const int64_t blocks = (g.k + KC - 1) / KC;
  const int64_t block = (g.k + blocks - 1) / blocks;
  // Every block of depth adds to all of C. Where that is more than a cache holds, C is made some columns at a time.
  if (blocks > 1 && !packs_a && g.n > NC && g.m * g.n > (1 << 20)) {
    for (int64_t j = 0; j < g.n; j += NC) {
      Gemm part = g;
      part.n = g.n - j < NC ? g.n - j : NC;
      part.b = static_cast<const Element*>(g.b) + j * g.b_col;
      part.c += j;
      if (g.bias) part.bias += j;
      if (g.addend) part.addend += j;
      gemm_as<Element>(part, scratch);
    }
    return;
  }
  for (int64_t k0 = 0; k0 < g.k; k0 += block) {
    const int64_t depth = g.k - k0 < block ? g.k - k0 : block;
    const bool first = k0 == 0, last = k0 + depth == g.k;
    const int64_t width = g.n < NC ? g.n : NC;
    float* const a_panels = scratch + (width + NR - 1) / NR * panel_b(depth);
    // Where all of A has room beside B, it is packed once for all blocks of columns.
    const int64_t room = static_cast<int64_t>(gemm_scratch_floats) - (a_panels - scratch);
    const bool keeps_a = packs_a && (g.m + MR - 1) / MR * panel_a(depth) <= room;
    int packed = 0;  // panels of A that there are
    for (int64_t j0 = 0; j0 < g.n; j0 += NC) {
      const int64_t columns = g.n - j0 < NC ? g.n - j0 : NC;
      const int64_t along = packs_along ? columns / NR * NR : 0;  // columns that the first tiles pack
      if (packs_b && along < columns)
        pack_b<Element>(g, k0, j0 + along, depth, columns - along, scratch + along / NR * panel_b(depth));
      int panel = keeps_a ? 0 : packed;  // of A, the next one
      for (int64_t i = 0; i < g.m;) {
        const int64_t left = g.m - i;
        const int rows = tile_rows(left);
        const float* a = g.a + i * g.a_row + k0 * g.a_col;
        int64_t step = unit_row ? g.a_col : g.a_row;
        if (packs_a) {
          if (panel == packed) {
            if (!keeps_a) panel = packed = 0;
            packed += pack_a(a, g.a_col, left, depth, a_panels + packed * panel_a(depth));
          }
          a = a_panels + panel++ * panel_a(depth);
          step = MR;
        }
        if (!packs_a && !unit_row && depth >= far)
          for (int64_t r = i + rows; r < i + rows + MR && r < g.m; ++r)
            for (int64_t k = 0; k < depth; k += 16) __builtin_prefetch(g.a + r * g.a_row + k0 + k, 0, 2);
        for (int64_t j = 0; j < columns; j += NR) {
          const int64_t width = columns - j < NR ? columns - j : NR;
          const int vectors = width > W ? 2 : 1;
          const int lanes = static_cast<int>(width - (vectors - 1) * W);
          const int64_t column = j0 + j;
          float* const panel_of_b = scratch + j / NR * panel_b(depth);
          const bool in_place = !packs_b || (i == 0 && j < along);
          const float* b = in_place ? static_cast<const float*>(g.b) + k0 * g.b_row + column : panel_of_b;
          const Finish f{g.c + i * g.c_row + column,
                         g.c_row,
                         last && g.bias ? g.bias + column : nullptr,
                         last && g.addend ? g.addend + i * g.addend_row + column : nullptr,
                         g.addend_row,
                         g.accumulate || !first};
          const bool partial = lanes != W;
          const TileFunction run =
              i == 0 && j < along
                  ? (unit_row ? tile<MR, 2, true, false, true> : tile<MR, 2, false, false, true>)
                  : (unit_row ? tile_of<true>(rows, vectors, partial)
                              : tile_of<false>(rows, vectors, partial));
          run(depth, a, step, b, in_place ? g.b_row : NR, lanes, f, panel_of_b);
        }
        i += rows;
      }
    }
  }
}

inline void gemm(const Gemm& g, float* scratch) {
  if (g.b_type == DType::bf16) return gemm_as<bf16>(g, scratch);
  if (g.b_type == DType::f16) return gemm_as<f16>(g, scratch);
  gemm_as<float>(g, scratch);
}

}  // namespace
}  // namespace plimsoll::kernels::PLIMSOLL_ISA
