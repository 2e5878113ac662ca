// Plain loops with sums in double that define the result of each kernel; fast versions are tested against them.
#pragma once
#include "kernels/table.hpp"

namespace plimsoll::kernels::reference {

void gemm(const Gemm&, float* scratch);
void layernorm(const LayerNorm&);
void layernorm_backward(const LayerNormBackward&);
void rmsnorm(const RmsNorm&);
void rmsnorm_backward(const RmsNormBackward&);
void rotary(const Rotary&);
void gelu(const Gelu&);
void gelu_backward(const GeluBackward&);
void swiglu(const SwiGlu&);
void swiglu_backward(const SwiGluBackward&);
void scale(const Scale&);
void dropout(const Dropout&);
void column_sum(const ColumnSum&);
void add(const Add&);
void multiply(const Multiply&);
void widen(const Widen&);
void attention(const Attention&, float* scratch);
void attention_backward(const AttentionBackward&, float* scratch);
void attention_cached(const AttentionCached&);
void cross_entropy(const CrossEntropy&);
void adamw(const AdamW&);
void adamw8(const AdamW8&);
double sum_squares(const SumSquares&);

}  // namespace plimsoll::kernels::reference
