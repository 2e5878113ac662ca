// What tests of fast kernels share: noise, a measure of difference, and a fixture with a fast table and the reference.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "kernels/table.hpp"

namespace plimsoll::kernels {

inline std::vector<float> noise(int64_t n, uint64_t seed, float scale = 1) {
  CounterRng rng(seed, Stream::weights);
  std::vector<float> v(static_cast<size_t>(n));
  for (size_t i = 0; i < v.size(); ++i) v[i] = scale * static_cast<float>(rng.normal(i));
  return v;
}

// Largest difference relative to the largest magnitude.
inline double difference(const std::vector<float>& a, const std::vector<float>& b) {
  double top = 1e-30, worst = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    top = std::max(top, std::abs(double(b[i])));
    worst = std::max(worst, std::abs(double(a[i]) - b[i]));
    if (!std::isfinite(a[i])) return INFINITY;
  }
  return worst / top;
}

// A test for each instruction set: INSTANTIATE_TEST_SUITE_P(EveryInstructionSet, FIXTURE, every_fast_table(), table_name).
class Fast : public testing::TestWithParam<const Table*> {
 protected:
  const Table& fast = *GetParam();
  const Table& plain = reference_table;
};

inline auto every_fast_table() { return testing::ValuesIn(available().begin(), available().end() - 1); }
inline std::string table_name(const testing::TestParamInfo<const Table*>& info) { return info.param->name; }

}  // namespace plimsoll::kernels
