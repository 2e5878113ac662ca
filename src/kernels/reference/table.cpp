#include "kernels/reference/reference.hpp"

namespace plimsoll::kernels {

const Table reference_table = {
    .name = "reference",
    .gemm = reference::gemm,
    .layernorm = reference::layernorm,
    .layernorm_backward = reference::layernorm_backward,
    .rmsnorm = reference::rmsnorm,
    .rmsnorm_backward = reference::rmsnorm_backward,
    .rotary = reference::rotary,
    .gelu = reference::gelu,
    .gelu_backward = reference::gelu_backward,
    .swiglu = reference::swiglu,
    .swiglu_backward = reference::swiglu_backward,
    .scale = reference::scale,
    .dropout = reference::dropout,
    .column_sum = reference::column_sum,
    .add = reference::add,
    .multiply = reference::multiply,
    .widen = reference::widen,
    .attention = reference::attention,
    .attention_backward = reference::attention_backward,
    .attention_cached = reference::attention_cached,
    .cross_entropy = reference::cross_entropy,
    .adamw = reference::adamw,
    .adamw8 = reference::adamw8,
    .sum_squares = reference::sum_squares,
};

}  // namespace plimsoll::kernels
