// The matrix product that every backend provides: C = [C +] A B [+ bias] [+ addend], on the calling thread only.
#pragma once
#include <cstddef>
#include <cstdint>

#include "tensor/dtype.hpp"

namespace plimsoll::kernels {

// A(i, k) is a[i * a_row + k * a_col]; B(k, j) is b[k * b_row + j * b_col]; one of each pair of strides is 1.
// C and addend are row-major. B may be stored as bf16 or f16: the product is that of its elements widened to f32, bit
// for bit.
struct Gemm {
  int64_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  int64_t a_row = 0, a_col = 1;
  const void* b = nullptr;
  DType b_type = DType::f32;
  int64_t b_row = 0, b_col = 1;
  float* c = nullptr;
  int64_t c_row = 0;
  const float* bias = nullptr;    // [n], added to every row
  const float* addend = nullptr;  // [m, n], rows `addend_row` apart
  int64_t addend_row = 0;
  bool accumulate = false;
};

// A backend of its own may take f32 alone; the table's product takes every floating-point dtype.
using GemmFunction = void (*)(const Gemm&, float* scratch);

// Floats of scratch that a native product of any size may use.
constexpr size_t gemm_scratch_floats = 384 * (256 + 16);

}  // namespace plimsoll::kernels
