// Compiled once per instruction set with PLIMSOLL_ISA naming it; see kernels/table.hpp.
#include "kernels/table.hpp"

#include "kernels/fast/attention.hpp"
#include "kernels/fast/elementwise.hpp"
#include "kernels/fast/gemm.hpp"
#include "kernels/fast/layernorm.hpp"
#include "kernels/fast/loss.hpp"
#include "kernels/fast/optimizer.hpp"
#include "kernels/fast/rmsnorm.hpp"
#include "kernels/fast/rotary.hpp"

#define PLIMSOLL_TEXT2(x) #x
#define PLIMSOLL_TEXT(x) PLIMSOLL_TEXT2(x)

namespace plimsoll::kernels::PLIMSOLL_ISA {

extern const Table table;
const Table table = {
    .name = PLIMSOLL_TEXT(PLIMSOLL_ISA),
    .gemm = gemm,
    .layernorm = layernorm,
    .layernorm_backward = layernorm_backward,
    .rmsnorm = rmsnorm,
    .rmsnorm_backward = rmsnorm_backward,
    .rotary = rotary,
    .gelu = gelu,
    .gelu_backward = gelu_backward,
    .swiglu = swiglu,
    .swiglu_backward = swiglu_backward,
    .scale = scale,
    .dropout = dropout,
    .column_sum = column_sum,
    .add = add,
    .multiply = multiply,
    .widen = widen,
    .attention = attention,
    .attention_backward = attention_backward,
    .attention_cached = attention_cached,
    .cross_entropy = cross_entropy,
    .adamw = adamw,
    .adamw8 = adamw8,
    .sum_squares = sum_squares,
};

}  // namespace plimsoll::kernels::PLIMSOLL_ISA
