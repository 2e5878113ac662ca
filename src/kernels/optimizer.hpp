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

struct SumSquares {
  int64_t count;
  const float* x;
};

}  // namespace plimsoll::kernels
