#include <cmath>
#include <vector>

#include "kernels/reference/reference.hpp"

namespace plimsoll::kernels::reference {

void layernorm(const LayerNorm& a) {
  for (int64_t row = 0; row < a.rows; ++row) {
    const float* x = a.x + row * a.width;
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < a.width; ++i) mean += x[i];
    mean /= double(a.width);
    for (int64_t i = 0; i < a.width; ++i) variance += (x[i] - mean) * (x[i] - mean);
    const double rstd = 1 / std::sqrt(variance / double(a.width) + a.epsilon);
    for (int64_t i = 0; i < a.width; ++i)
      a.y[row * a.width + i] = static_cast<float>((x[i] - mean) * rstd * a.gain[i] + a.bias[i]);
    a.mean[row] = static_cast<float>(mean);
    a.rstd[row] = static_cast<float>(rstd);
  }
}

void layernorm_backward(const LayerNormBackward& a) {
  std::vector<double> dgain(static_cast<size_t>(a.width)), dbias(static_cast<size_t>(a.width));
  for (int64_t row = 0; row < a.rows; ++row) {
    const float* x = a.x + row * a.width;
    const float* dy = a.dy + row * a.width;
    const double mean = a.mean[row], rstd = a.rstd[row];
    double mean_g = 0, mean_gx = 0;
    for (int64_t i = 0; i < a.width; ++i) {
      const double xhat = (x[i] - mean) * rstd, g = double(dy[i]) * a.gain[i];
      mean_g += g / double(a.width);
      mean_gx += g * xhat / double(a.width);
      dgain[size_t(i)] += dy[i] * xhat;
      dbias[size_t(i)] += dy[i];
    }
    for (int64_t i = 0; i < a.width; ++i) {
      const double xhat = (x[i] - mean) * rstd, g = double(dy[i]) * a.gain[i];
      const double before = a.addend ? a.addend[row * a.width + i] : 0;
      a.dx[row * a.width + i] = static_cast<float>(before + rstd * (g - mean_g - xhat * mean_gx));
    }
  }
  for (int64_t i = 0; a.partial && i < a.width; ++i) {
    a.partial[i] = static_cast<float>(dgain[size_t(i)]);
    a.partial[a.width + i] = static_cast<float>(dbias[size_t(i)]);
  }
}

}  // namespace plimsoll::kernels::reference
