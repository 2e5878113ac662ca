#include <cmath>
#include <numbers>

#include "kernels/reference/reference.hpp"
#include "tensor/half.hpp"

namespace plimsoll::kernels::reference {
namespace {
const double gelu_scale = std::sqrt(2 / std::numbers::pi);
constexpr double cubic = 0.044715;
// t is the tanh that gelu(x) is made of.
double gelu_slope(double x, double t) {
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * gelu_scale * (1 + 3 * cubic * x * x);
}
}  // namespace

void gelu(const Gelu& a) {
  for (int64_t i = 0; i < a.count; ++i) {
    const double x = a.x[i], t = std::tanh(gelu_scale * (x + cubic * x * x * x));
    a.y[i] = static_cast<float>(0.5 * x * (1 + t));
    if (a.slope) a.slope[i] = static_cast<float>(gelu_slope(x, t));
  }
}

void gelu_backward(const GeluBackward& a) {
  for (int64_t i = 0; i < a.count; ++i) {
    const double x = a.x[i], t = std::tanh(gelu_scale * (x + cubic * x * x * x));
    a.dx[i] = static_cast<float>(a.dy[i] * gelu_slope(x, t));
  }
}

void swiglu(const SwiGlu& a) {
  for (int64_t i = 0; i < a.count; ++i) {
    const double gate = a.gate[i];
    a.y[i] = static_cast<float>(gate / (1 + std::exp(-gate)) * a.up[i]);
  }
}

void swiglu_backward(const SwiGluBackward& a) {
  for (int64_t i = 0; i < a.count; ++i) {
    const double gate = a.gate[i], up = a.up[i], dy = a.dy[i], s = 1 / (1 + std::exp(-gate));
    a.dgate[i] = static_cast<float>(dy * up * s * (1 + gate * (1 - s)));
    a.dup[i] = static_cast<float>(dy * gate * s);
  }
}

void scale(const Scale& a) {
  for (int64_t i = 0; i < a.count; ++i) a.y[i] = a.factor * a.x[i];
}

void dropout(const Dropout& a) {
  for (int64_t i = 0; i < a.count; ++i) {
    const bool kept = dropout_hash(a.key, a.first + static_cast<uint32_t>(i)) >= a.threshold;
    a.y[i] = (a.addend ? a.addend[i] : 0) + (kept ? a.x[i] * a.scale : 0);
  }
}

void column_sum(const ColumnSum& a) {
  for (int64_t j = 0; j < a.columns; ++j) {
    double sum = a.accumulate ? a.y[j] : 0;
    for (int64_t row = 0; row < a.rows; ++row) sum += a.x[row * a.row_stride + j];
    a.y[j] = static_cast<float>(sum);
  }
}

void add(const Add& a) {
  for (int64_t i = 0; i < a.count; ++i) a.y[i] = a.a[i] + a.b[i];
}

void multiply(const Multiply& a) {
  for (int64_t i = 0; i < a.count; ++i) a.y[i] = a.a[i] * a.b[i];
}

void widen(const Widen& a) {
  for (int64_t i = 0; i < a.count; ++i) a.y[i] = widened(a.x, a.type, i);
}

}  // namespace plimsoll::kernels::reference
