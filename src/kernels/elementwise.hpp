// Element-by-element kernels: GELU (tanh form), SwiGLU, dropout with masks recomputed from a counter, sums.
#pragma once
#include <cstdint>

#include "tensor/dtype.hpp"

namespace plimsoll::kernels {

struct Gelu {
  int64_t count;
  const float* x;
  float* y;
  float* slope = nullptr;  // the derivative, where it is wanted; either of the two may be x
};
struct GeluBackward {
  int64_t count;
  const float* x;
  const float* dy;
  float* dx;  // may be dy
};

// y = gate * sigmoid(gate) * up
struct SwiGlu {
  int64_t count;
  const float* gate;
  const float* up;
  float* y;  // may be gate or up
};
struct SwiGluBackward {
  int64_t count;
  const float* gate;
  const float* up;
  const float* dy;
  float* dgate;  // these two may be any of the three inputs
  float* dup;
};

// y = factor * x
struct Scale {
  int64_t count;
  float factor;
  const float* x;
  float* y;  // may be x
};

// Element i is kept when hash(key, first + i) >= threshold, and then scaled by `scale`; y = [addend +] kept x.
struct Dropout {
  int64_t count;
  uint32_t key, first, threshold;
  float scale;
  const float* x;
  const float* addend;  // or null
  float* y;
};

// The one definition of the mask; both the vector kernels and the reference compute exactly this.
constexpr uint32_t dropout_hash(uint32_t key, uint32_t index) {
  uint32_t h = index * 0x9e3779b1u ^ key;
  h ^= h >> 16;
  h *= 0x85ebca6bu;
  h ^= h >> 13;
  h *= 0xc2b2ae35u;
  h ^= h >> 16;
  return h;
}

// y[j] = [y[j] +] sum over rows of x[row, j]
struct ColumnSum {
  int64_t rows, columns, row_stride;
  const float* x;
  float* y;
  bool accumulate;
};

struct Add {
  int64_t count;
  const float* a;
  const float* b;
  float* y;  // may be a or b
};

// y = a b
struct Multiply {
  int64_t count;
  const float* a;
  const float* b;
  float* y;  // may be a or b
};

// y = x as f32
struct Widen {
  int64_t count;
  const void* x;
  DType type;  // f32, bf16 or f16
  float* y;
};

}  // namespace plimsoll::kernels
