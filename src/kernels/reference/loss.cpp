#include <algorithm>
#include <cmath>

#include "kernels/reference/reference.hpp"

namespace plimsoll::kernels::reference {

void cross_entropy(const CrossEntropy& a) {
  for (int64_t r = 0; r < a.rows; ++r) {
    float* x = a.logits + r * a.row_stride;
    const int64_t row = a.first_row + r;
    const int32_t target = a.targets[row / a.per_line * a.line_stride + row % a.per_line];
    if (target < 0) {
      a.losses[r] = 0;
      if (a.gradient) std::fill_n(x, a.classes, 0.f);
      continue;
    }
    const double top = *std::max_element(x, x + a.classes);
    double sum = 0;
    for (int64_t i = 0; i < a.classes; ++i) sum += std::exp(x[i] - top);
    a.losses[r] = static_cast<float>(std::log(sum) + top - x[target]);
    if (!a.gradient) continue;
    const double scale = a.weights ? double(a.scale) * a.weights[row] : a.scale;
    for (int64_t i = 0; i < a.classes; ++i)
      x[i] = static_cast<float>(scale * (std::exp(x[i] - top) / sum - (i == target ? 1 : 0)));
  }
}

}  // namespace plimsoll::kernels::reference
