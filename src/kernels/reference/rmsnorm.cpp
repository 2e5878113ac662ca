#include <cmath>
#include <vector>

#include "kernels/reference/reference.hpp"

namespace plimsoll::kernels::reference {

void rmsnorm(const RmsNorm& a) {
  for (int64_t row = 0; row < a.rows; ++row) {
    const float* x = a.x + row * a.width;
    double squares = 0;
    for (int64_t i = 0; i < a.width; ++i) squares += double(x[i]) * x[i];
    const double rstd = 1 / std::sqrt(squares / double(a.width) + a.epsilon);
    for (int64_t i = 0; i < a.width; ++i)
      a.y[row * a.width + i] = static_cast<float>(x[i] * rstd * a.gain[i]);
    a.rstd[row] = static_cast<float>(rstd);
  }
}

void rmsnorm_backward(const RmsNormBackward& a) {
  std::vector<double> dgain(static_cast<size_t>(a.width));
  for (int64_t row = 0; row < a.rows; ++row) {
    const float* x = a.x + row * a.width;
    const float* dy = a.dy + row * a.width;
    const double rstd = a.rstd[row];
    double mean_gx = 0;
    for (int64_t i = 0; i < a.width; ++i) {
      mean_gx += double(dy[i]) * a.gain[i] * x[i] * rstd / double(a.width);
      dgain[size_t(i)] += dy[i] * x[i] * rstd;
    }
    for (int64_t i = 0; i < a.width; ++i) {
      const double before = a.addend ? a.addend[row * a.width + i] : 0;
      a.dx[row * a.width + i] =
          static_cast<float>(before + rstd * (double(dy[i]) * a.gain[i] - x[i] * rstd * mean_gx));
    }
  }
  for (int64_t i = 0; a.partial && i < a.width; ++i) a.partial[i] = static_cast<float>(dgain[size_t(i)]);
}

}  // namespace plimsoll::kernels::reference
