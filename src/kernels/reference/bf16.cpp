#include "kernels/gemm/bf16.hpp"

#include "tensor/half.hpp"

namespace plimsoll::kernels::reference {

void bf16_product(const Gemm& g, float*) {
  const auto rounded = [&](float x) { return double(g.m == 1 ? x : widen(narrow_to_bf16(x))); };
  const auto* b = static_cast<const float*>(g.b);
  for (int64_t i = 0; i < g.m; ++i)
    for (int64_t j = 0; j < g.n; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < g.k; ++k)
        sum += rounded(g.a[i * g.a_row + k * g.a_col]) * rounded(b[k * g.b_row + j * g.b_col]);
      float& c = g.c[i * g.c_row + j];
      if (g.accumulate) sum += c;
      if (g.bias) sum += g.bias[j];
      if (g.addend) sum += g.addend[i * g.addend_row + j];
      c = static_cast<float>(sum);
    }
}

}  // namespace plimsoll::kernels::reference
