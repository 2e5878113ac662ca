// The kernels of one instruction set. The reference table is the specification; the fast tables are tested
// against it. `best()` is chosen once, by the capabilities of the processor.
#pragma once
#include <span>
#include <string_view>

#include "kernels/attention.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/gemm.hpp"
#include "kernels/layernorm.hpp"
#include "kernels/loss.hpp"
#include "kernels/optimizer.hpp"
#include "kernels/rmsnorm.hpp"
#include "kernels/rotary.hpp"

namespace plimsoll::kernels {

struct Table {
  const char* name;
  void (*gemm)(const Gemm&, float* scratch);
  void (*layernorm)(const LayerNorm&);
  void (*layernorm_backward)(const LayerNormBackward&);
  void (*rmsnorm)(const RmsNorm&);
  void (*rmsnorm_backward)(const RmsNormBackward&);
  void (*rotary)(const Rotary&);
  void (*gelu)(const Gelu&);
  void (*gelu_backward)(const GeluBackward&);
  void (*swiglu)(const SwiGlu&);
  void (*swiglu_backward)(const SwiGluBackward&);
  void (*scale)(const Scale&);
  void (*dropout)(const Dropout&);
  void (*column_sum)(const ColumnSum&);
  void (*add)(const Add&);
  void (*multiply)(const Multiply&);
  void (*widen)(const Widen&);
  void (*attention)(const Attention&, float* scratch);
  void (*attention_backward)(const AttentionBackward&, float* scratch);
  void (*attention_cached)(const AttentionCached&);
  void (*cross_entropy)(const CrossEntropy&);
  void (*adamw)(const AdamW&);
  void (*adamw8)(const AdamW8&);
  double (*sum_squares)(const SumSquares&);
};

extern const Table reference_table;
// The tables this processor can run, fastest first, the reference last.
std::span<const Table* const> available();
const Table& best();
// The table of an instruction set: auto (the best), plain, avx2 or avx512. InputError where this processor has none.
const Table& table_of(std::string_view isa);

}  // namespace plimsoll::kernels
