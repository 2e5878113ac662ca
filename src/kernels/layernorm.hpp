// LayerNorm over the last dimension: y = (x - mean) * rstd * gain + bias.
#pragma once
#include <cstdint>

namespace plimsoll::kernels {

struct LayerNorm {
  int64_t rows, width;
  const float* x;     // [rows, width]
  const float* gain;  // [width]
  const float* bias;  // [width]
  float* y;           // [rows, width]
  float* mean;        // [rows]
  float* rstd;        // [rows]
  float epsilon = 1e-5f;
};

struct LayerNormBackward {
  int64_t rows, width;
  const float* dy;
  const float* x;
  const float* gain;
  const float* mean;
  const float* rstd;
  const float* addend;  // [rows, width] or null: dx = addend + gradient (the residual branch)
  float* dx;            // may be `addend` or `dy`
  float* partial;       // [2, width] or null: sums over these rows for gain, then bias
};

}  // namespace plimsoll::kernels
