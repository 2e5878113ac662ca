#include <algorithm>
#include <cmath>
#include <vector>

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

void adamw8(const AdamW8& a) {
  std::vector<float> m(static_cast<size_t>(moment_block)), v(m);
  for (int64_t start = 0; start < a.step.count; start += moment_block) {
    const int64_t block = start / moment_block, count = std::min(moment_block, a.step.count - start);
    float &m_scale = a.m_scale[block], &v_scale = a.v_scale[block];
    for (int64_t i = 0; i < count; ++i) {
      const double c = double(a.m[start + i]) - 128, r = double(a.v[start + i]) / 255;
      m[size_t(i)] = static_cast<float>(m_scale * c * std::abs(c) / (127 * 127));
      v[size_t(i)] = static_cast<float>(v_scale * r * r * r * r);
    }
    AdamW step = a.step;
    step.count = count, step.m = m.data(), step.v = v.data();
    step.parameter += start, step.gradient += start;
    adamw(step);
    m_scale = v_scale = 0;
    for (int64_t i = 0; i < count; ++i) {
      m_scale = std::max(m_scale, std::abs(m[size_t(i)]));
      v_scale = std::max(v_scale, v[size_t(i)]);
    }
    // What is so small that a division by it overflows is nothing.
    if (m_scale <= 1.2e-38f) m_scale = 0;
    if (v_scale <= 1.2e-38f) v_scale = 0;
    for (int64_t i = 0; i < count; ++i) {
      const uint32_t h = dropout_hash(a.key, a.first + static_cast<uint32_t>(start + i));
      const double x = m[size_t(i)], y = v[size_t(i)];
      const double c =
          m_scale > 0 ? std::floor(std::sqrt(std::abs(x) / m_scale) * 127 + (h >> 16) * 0x1p-16) : 0;
      const double r =
          v_scale > 0 ? std::floor(std::sqrt(std::sqrt(y / v_scale)) * 255 + (h & 0xffff) * 0x1p-16) : 0;
      a.m[start + i] = static_cast<uint8_t>(128 + (x < 0 ? -1 : 1) * std::min(c, 127.));
      a.v[start + i] = static_cast<uint8_t>(y > 0 ? std::clamp(r, 1., 255.) : 0);
    }
  }
}

double sum_squares(const SumSquares& a) {
  double total = 0;
  for (int64_t i = 0; i < a.count; ++i) total += double(a.x[i]) * a.x[i];
  return total;
}

}  // namespace plimsoll::kernels::reference
