#include <cmath>

#include "kernels/reference/reference.hpp"

namespace plimsoll::kernels::reference {

void adamw(const AdamW& a) {
  for (int64_t i = 0; i < a.count; ++i) {
    const double g = double(a.gradient[i]) * a.gradient_scale;
    const double m = a.beta1 * double(a.m[i]) + (1 - double(a.beta1)) * g;
    const double v = a.beta2 * double(a.v[i]) + (1 - double(a.beta2)) * g * g;
    a.m[i] = static_cast<float>(m);
    a.v[i] = static_cast<float>(v);
    a.parameter[i] = static_cast<float>(double(a.parameter[i]) * a.keep -
                                        a.rate * m / (std::sqrt(v) * a.correction2 + a.epsilon));
  }
}

double sum_squares(const SumSquares& a) {
  double total = 0;
  for (int64_t i = 0; i < a.count; ++i) total += double(a.x[i]) * a.x[i];
  return total;
}

}  // namespace plimsoll::kernels::reference
