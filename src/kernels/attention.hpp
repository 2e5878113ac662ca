// Causal self-attention of one head of one sequence. Scores exist only for a block of queries at a time, keys after
// the block's last query are skipped, and the backward pass recomputes the probabilities from `lse`.
#pragma once
#include <cstddef>
#include <cstdint>

namespace plimsoll::kernels {

struct AttentionDropout {
  uint32_t key = 0, first = 0, threshold = 0;  // element (q, k) of this head has index first + q * length + k
  float scale = 1;
};

struct Attention {
  int64_t length, width;   // T, head size
  const float *q, *k, *v;  // [T, width], rows `stride` apart
  int64_t stride;
  float* out;  // [T, width], rows `out_stride` apart
  int64_t out_stride;
  float* lse;  // [T]: log of the sum of exponentials of each query's scaled scores
  AttentionDropout dropout;
};

struct AttentionBackward {
  int64_t length, width;
  const float *q, *k, *v;
  int64_t stride;
  const float* out;
  const float* dout;
  int64_t out_stride;
  const float* lse;
  float *dq, *dk, *dv;  // rows `stride` apart, overwritten
  AttentionDropout dropout;
};

// One query against a cache of `length` keys and values.
struct AttentionCached {
  int64_t length, width;
  const float* q;      // [width]
  const float *k, *v;  // [length, width], rows `stride` apart
  int64_t stride;
  float* out;     // [width]
  float* scores;  // [length] scratch
};

// Queries at a time: whole tiles of the widest product. Many pay for long rows, few waste less on the masked half.
constexpr int64_t attention_block(int64_t length) { return length >= 256 ? 56 : 28; }

// Floats of scratch for one head, forward or backward: linear in the length.
constexpr size_t attention_scratch_floats(int64_t length, int64_t width) {
  const int64_t padded = (length + 63) / 64 * 64;
  return static_cast<size_t>(2 * width * padded + 2 * attention_block(length) * padded);
}

}  // namespace plimsoll::kernels
