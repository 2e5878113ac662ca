// RMSNorm over the last dimension: y = x * rstd * gain with rstd = 1 / sqrt(mean(x^2) + epsilon).
#pragma once
#include <cstdint>

namespace plimsoll::kernels {

struct RmsNorm {
  int64_t rows, width;
  const float* x;     // [rows, width]
  const float* gain;  // [width]
  float* y;           // [rows, width]
  float* rstd;        // [rows]
  float epsilon;
};

struct RmsNormBackward {
  int64_t rows, width;
  const float* dy;
  const float* x;
  const float* gain;
  const float* rstd;
  const float* addend;  // [rows, width] or null: dx = addend + gradient (the residual branch)
  float* dx;            // may be `addend` or `dy`
  float* partial;       // [width] or null: sums over these rows for gain
};

}  // namespace plimsoll::kernels
