// Matrix products whose operands are rounded to bf16 (to the nearest, ties to even) and whose sums are f32. Only f32
// operands; products of a single row are not rounded.
#pragma once
#include "kernels/gemm.hpp"

namespace plimsoll::kernels {

// By the processor's own instructions; null where it has none (AVX512-BF16).
GemmFunction fast_bf16();

namespace reference {
// The specification: rounds, widens, sums in double.
void bf16_product(const Gemm&, float* scratch);
}  // namespace reference

}  // namespace plimsoll::kernels
