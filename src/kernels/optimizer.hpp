// AdamW over a range of one parameter, and the sum of squares the gradient clip needs.
#pragma once
#include <cstdint>

namespace plimsoll::kernels {

struct AdamW {
  int64_t count;
  float* parameter;
  const float* gradient;
  float* m;
  float* v;
  float gradient_scale;  // the clip's factor
  float beta1, beta2, epsilon;
  float rate;         // lr / (1 - beta1^t)
  float correction2;  // 1 / sqrt(1 - beta2^t)
  float keep;         // 1 - lr * weight decay
};

// The same with moments in 8 bits. Each block of `moment_block` elements has a scale, the largest magnitude in it:
//   m = scale * c |c| / 127^2 with c = code - 128        v = scale * (code / 255)^4
// so that small elements keep a relative precision. Codes are rounded up or down at random, by dropout_hash(key, first + i):
// a second moment changes by less than a code's step at a time and would otherwise not change at all. Only v = 0 has code 0.
constexpr int64_t moment_block = 256;
struct AdamW8 {
  AdamW step;  // its m and v are not used
  uint8_t* m;
  uint8_t* v;
  float* m_scale;  // one for each block
  float* v_scale;
  uint32_t key, first;
};

struct SumSquares {
  int64_t count;
  const float* x;
};

}  // namespace plimsoll::kernels
