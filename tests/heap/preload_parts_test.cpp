// The parts of the preloaded library that are pure functions: sampling's numbers and Python's line tables.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "heap/preload/numbers.hpp"
#include "heap/preload/python.hpp"

namespace plimsoll::heap {
namespace {

TEST(SamplingNumbers, AgreeWithTheMathematicsLibrary) {
  for (double x = 1e-12; x < 1e6; x *= 1.37) {
    EXPECT_NEAR(natural_logarithm(x), std::log(x), 1e-7 * (1 + std::fabs(std::log(x)))) << x;
    EXPECT_NEAR(chance_of_sample(x) / -std::expm1(-x), 1, 1e-7) << x;
  }
  EXPECT_EQ(chance_of_sample(0), 0);
}

TEST(SamplingNumbers, EstimateEverySizeWithoutBias) {
  // Blocks of one size, sampled as the hooks do it: what the samples stand for is what was allocated.
  constexpr double rate = 512 << 10;
  for (const double size : {64.0, 5000.0, 100000.0, 524288.0, 4e6}) {
    uint64_t state = 12345 + uint64_t(size);
    double left = -natural_logarithm(uniform(state)) * rate, estimate = 0;
    const int count = int(4000 * rate / std::min(size, rate));
    for (int i = 0; i < count; ++i)
      if ((left -= size) < 0) {
        estimate += size / chance_of_sample(size / rate);
        left = -natural_logarithm(uniform(state)) * rate;
      }
    EXPECT_NEAR(estimate / (size * count), 1, 0.06) << size;
  }
}

int64_t line(int64_t (*find)(const uint8_t*, size_t, int64_t, int64_t), const std::vector<uint8_t>& table,
             int64_t instruction) {
  return find(table.data(), table.size(), 10, instruction);
}

TEST(LineTables, ReadTheFormOf39) {
  // Bytes 0-5: line 10; 6-13: line 12; from 14: line 11.
  const std::vector<uint8_t> table = {6, 2, 8, 255};
  EXPECT_EQ(line(line_of_pairs_3_9, table, 0), 10);
  EXPECT_EQ(line(line_of_pairs_3_9, table, 5), 10);
  EXPECT_EQ(line(line_of_pairs_3_9, table, 6), 12);
  EXPECT_EQ(line(line_of_pairs_3_9, table, 14), 11);
}

TEST(LineTables, ReadTheFormOf310) {
  const std::vector<uint8_t> table = {6, 1, 4, 128, 8, 2, 2, 255};
  EXPECT_EQ(line(line_of_pairs_3_10, table, 0), 11);
  EXPECT_EQ(line(line_of_pairs_3_10, table, 6), 11);
  EXPECT_EQ(line(line_of_pairs_3_10, table, 10), 13);
  EXPECT_EQ(line(line_of_pairs_3_10, table, 18), 12);
}

TEST(LineTables, ReadTheFormOf311) {
  // One unit with short columns; two units one line on; one unit with a signed step of -3; one without a line.
  const std::vector<uint8_t> table = {
      0x80, 0x00, uint8_t(0x80 | 11 << 3 | 1), 0, 0, uint8_t(0x80 | 13 << 3), 7, uint8_t(0x80 | 15 << 3)};
  EXPECT_EQ(line(line_of_locations_3_11, table, 0), 10);
  EXPECT_EQ(line(line_of_locations_3_11, table, 2), 11);
  EXPECT_EQ(line(line_of_locations_3_11, table, 4), 11);
  EXPECT_EQ(line(line_of_locations_3_11, table, 6), 8);
  EXPECT_EQ(line(line_of_locations_3_11, table, 8), 8);
}

}  // namespace
}  // namespace plimsoll::heap
