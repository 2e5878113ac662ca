#include "kernels/gemm/bf16.hpp"
#include "kernels/reference/reference.hpp"
#include "tensor/half.hpp"

namespace plimsoll::kernels::reference {
namespace {

// `a` and `b` give the number at an offset, as it is multiplied.
template <typename A, typename B>
void product(const Gemm& g, A a, B b) {
  for (int64_t i = 0; i < g.m; ++i)
    for (int64_t j = 0; j < g.n; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < g.k; ++k)
        sum += double(a(i * g.a_row + k * g.a_col)) * b(k * g.b_row + j * g.b_col);
      float& c = g.c[i * g.c_row + j];
      if (g.accumulate) sum += c;
      if (g.bias) sum += g.bias[j];
      if (g.addend) sum += g.addend[i * g.addend_row + j];
      c = static_cast<float>(sum);
    }
}

}  // namespace

void gemm(const Gemm& g, float*) {
  product(
      g, [&](int64_t at) { return g.a[at]; }, [&](int64_t at) { return widened(g.b, g.b_type, at); });
}

void bf16_product(const Gemm& g, float*) {
  const auto from = [&](const float* numbers) {
    return [=, one_row = g.m == 1](int64_t at) {
      return one_row ? numbers[at] : widen(narrow_to_bf16(numbers[at]));
    };
  };
  product(g, from(g.a), from(static_cast<const float*>(g.b)));
}

}  // namespace plimsoll::kernels::reference
