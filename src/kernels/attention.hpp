// Self-attention of one head of one sequence, causal or not. Scores exist only for a block of queries at a time, keys after
// the block's last query are skipped where it is causal, and the backward pass recomputes the probabilities from `lse`.
#pragma once
#include <cstddef>
#include <cstdint>

namespace plimsoll::kernels {

struct AttentionDropout {
  uint32_t key = 0, first = 0, threshold = 0;  // element (q, k) of this head has index first + q * length + k
  float scale = 1;
};

// Rows of the operands are `*_row` elements apart, so that heads can be columns of wider rows.
struct Attention {
  int64_t length, width;  // T, head size
  bool causal;            // query t sees keys 0..t, else all
  const float* q;         // [T, width]
  int64_t q_row;
  const float *k, *v;  // [T, width]
  int64_t k_row, v_row;
  float* out;  // [T, width]
  int64_t out_row;
  float* lse;  // [T]: log of the sum of exponentials of each query's scaled scores
  AttentionDropout dropout;
  const int32_t* positions = nullptr;  // [T] or null: see first_key
  int64_t first = 0, end = length;     // the queries to compute; `first` is a multiple of attention_block
};

struct AttentionBackward {
  int64_t length, width;
  bool causal;
  const float* q;
  int64_t q_row;
  const float *k, *v;
  int64_t k_row, v_row;
  const float* out;
  const float* dout;
  int64_t out_row;  // of both
  const float* lse;
  float* dq;  // overwritten
  int64_t dq_row;
  float *dk, *dv;  // overwritten, or added to
  int64_t dk_row, dv_row;
  bool accumulate;  // dk and dv: several heads of queries share these keys and values
  AttentionDropout dropout;
  const int32_t* positions = nullptr;
  int64_t column = 0, columns = width;  // of dq, dk and dv, those to compute
};

// One query against a cache of `length` keys and values.
struct AttentionCached {
  int64_t length, width;
  const float* q;      // [width]
  const float *k, *v;  // [length, width]
  int64_t k_row, v_row;
  float* out;     // [width]
  float* scores;  // [length] scratch
};

// The first key that query t sees: several samples may share a sequence, and positions[t] is the place of row t in its own.
__attribute__((always_inline)) inline int64_t first_key(const int32_t* positions, int64_t t) {
  if (!positions) return 0;
  const int64_t back = positions[t] < 0 ? 0 : positions[t];
  return back < t ? t - back : 0;
}

// Queries at a time: whole tiles of the widest product. Many pay for long rows, few waste less on the masked half.
constexpr int64_t attention_most_rows = 56;
constexpr int64_t attention_block(int64_t length) { return length >= 256 ? attention_most_rows : 28; }

// Floats from one query's scores to the next: an odd number of cache lines, or a column of them would lie in few sets of
// the cache.
constexpr int64_t attention_row(int64_t length) { return (length + 63) / 64 * 64 + 16; }
// Floats of `columns` columns in panels of at most 32, each `depth` deep.
constexpr int64_t attention_panels(int64_t depth, int64_t columns) {
  return (depth | 1) * ((columns + 31) / 32 * 32);
}
// Whether rows that are read again for every few queries are copied to where they lie together.
constexpr bool attention_copies(int64_t length) { return length >= 256; }

// Floats of scratch for one head, forward or backward: linear in the length.
constexpr size_t attention_scratch_floats(int64_t length, int64_t width) {
  const int64_t block = attention_block(length), across = attention_panels(width, length);
  const int64_t copies = attention_panels(length, width) + 2 * attention_panels(block, width);
  return static_cast<size_t>(2 * block * attention_row(length) + 2 * across +
                             (attention_copies(length) ? copies : 0));
}

}  // namespace plimsoll::kernels
