// AdamW of every instruction set that this machine supports, with moments in 32 and in 8 bits, compared with the reference.
#include "kernels/fast.hpp"

namespace plimsoll::kernels {
namespace {

class FastOptimizer : public Fast {};

TEST_P(FastOptimizer, AdamW) {
  auto p0 = noise(77, 1), g = noise(77, 2), m0 = noise(77, 3), v0 = noise(77, 4);
  for (float& v : v0) v = std::abs(v);
  auto p1 = p0, m1 = m0, v1 = v0;
  fast.adamw({77, p0.data(), g.data(), m0.data(), v0.data(), .5f, .9f, .99f, 1e-8f, 1e-3f, 1.5f, .999f});
  plain.adamw({77, p1.data(), g.data(), m1.data(), v1.data(), .5f, .9f, .99f, 1e-8f, 1e-3f, 1.5f, .999f});
  EXPECT_LT(difference(p0, p1), 1e-6);
  EXPECT_LT(difference(m0, m1), 1e-6);
  EXPECT_LT(difference(v0, v1), 1e-6);
}

// Moments in 8 bits of 600 elements: two whole blocks and a part.
struct Moments8 {
  std::vector<uint8_t> m = std::vector<uint8_t>(600), v = m;
  std::vector<float> m_scale = std::vector<float>(3), v_scale = m_scale, parameter = noise(600, 1);
  float m_of(size_t i) const {
    const float c = float(m[i]) - 128;
    return m_scale[i / 256] * c * std::abs(c) / (127 * 127);
  }
  float v_of(size_t i) const { return v_scale[i / 256] * std::pow(float(v[i]) / 255, 4.f); }
  void step(const Table& table, const std::vector<float>& g, float beta1, float beta2, uint32_t key) {
    table.adamw8(
        {{600, parameter.data(), g.data(), nullptr, nullptr, .5f, beta1, beta2, 1e-8f, 1e-3f, 1.5f, .999f},
         m.data(),
         v.data(),
         m_scale.data(),
         v_scale.data(),
         key,
         40});
  }
};

TEST_P(FastOptimizer, AdamW8) {
  Moments8 a, b;
  for (uint32_t step = 0; step < 5; ++step) {
    const auto g = noise(600, 10 + step);
    b = a;
    a.step(fast, g, .9f, .99f, step);
    b.step(plain, g, .9f, .99f, step);
    EXPECT_LT(difference(a.parameter, b.parameter), 1e-6);
    EXPECT_LT(difference(a.m_scale, b.m_scale), 1e-6);
    EXPECT_LT(difference(a.v_scale, b.v_scale), 1e-6);
    for (size_t i = 0; i < 600; ++i) {  // a last bit may decide which way a code is rounded
      ASSERT_LE(std::abs(a.m[i] - b.m[i]), 1) << i;
      ASSERT_LE(std::abs(a.v[i] - b.v[i]), 1) << i;
    }
  }
}

TEST_P(FastOptimizer, AdamW8KeepsMomentsWithinACodeAndOnAverageExactly) {
  auto g = noise(600, 2);
  for (size_t i = 0; i < 600; ++i) g[i] *= std::pow(10.f, -float(i % 4));  // magnitudes four decades apart
  g[5] = g[300] = 0;
  std::vector<double> m_sum(600), v_sum(600);
  constexpr int times = 400;
  for (uint32_t key = 0; key < times; ++key) {
    Moments8 a;
    a.step(fast, g, 0, 0, key * 7919);
    for (size_t i = 0; i < 600; ++i) {
      const float x = g[i] * .5f, most_m = a.m_scale[i / 256], most_v = a.v_scale[i / 256];
      const float r = std::sqrt(std::abs(x) / most_m), q = std::pow(x * x / most_v, .25f);
      ASSERT_LE(std::abs(a.m_of(i) - x), most_m * (2 * r / 127 + 1.01f / (127 * 127))) << i;
      ASSERT_LE(std::abs(std::pow(a.v_of(i) / most_v, .25f) - q), 1.01f / 255) << i;
      ASSERT_EQ(a.v_of(i) == 0, x == 0) << i;
      m_sum[i] += a.m_of(i), v_sum[i] += a.v_of(i);
    }
  }
  for (size_t i = 0; i < 600; ++i) {
    const double x = g[i] * .5;
    if (i % 4 || x == 0) continue;  // the largest decade, where codes are fine
    EXPECT_NEAR(m_sum[i] / times, x, .004 * std::abs(x) + 1e-4) << i;
    EXPECT_NEAR(v_sum[i] / times, x * x, .01 * x * x + 1e-4) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryInstructionSet, FastOptimizer, every_fast_table(), table_name);

}  // namespace
}  // namespace plimsoll::kernels
