// Series and step marks in bounded memory.
#include "verdict/series.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "verdict/compact.hpp"
#include "verdict/step_marks.hpp"

namespace plimsoll::verdict {

RC_GTEST_PROP(Series, KeepsEveryExtremeInFixedMemory, (const std::vector<uint32_t>& values)) {
  Series series(16);
  for (size_t i = 0; i < values.size(); ++i) series.add(double(i), values[i]);
  RC_ASSERT(series.size() <= 16u);
  RC_ASSERT(series.values() == values.size());
  if (values.empty()) return;
  uint64_t low = UINT64_MAX, high = 0;
  for (size_t i = 0; i < series.size(); ++i) {
    low = std::min(low, series[i].low), high = std::max(high, series[i].high);
    if (i > 0) RC_ASSERT(series[i].begin > series[i - 1].end);
  }
  RC_ASSERT(low == *std::min_element(values.begin(), values.end()));
  RC_ASSERT(high == *std::max_element(values.begin(), values.end()));
  RC_ASSERT(series[series.size() - 1].end == float(values.size() - 1));
}

TEST(StepMarks, StaysBoundedAndKeepsBothEnds) {
  StepMarks marks;
  for (int i = 0; i < 1'000'000; ++i) marks.see(i * .5, i);
  EXPECT_LE(marks.marks().size(), 4096u);
  EXPECT_EQ(marks.marks().front().step, 0);
  EXPECT_EQ(marks.marks().back().step, 999'999);
  for (size_t i = 1; i < marks.marks().size(); ++i) {
    ASSERT_LT(marks.marks()[i - 1].step, marks.marks()[i].step);
    ASSERT_EQ(marks.marks()[i].time, marks.marks()[i].step * .5);
  }
  marks.see(600'000, 3);
  EXPECT_EQ(marks.marks().size(), 1u) << "a count begun anew";
}

// The two kinds of series hold the same values: neither loses a minimum, a maximum or a sample.
RC_GTEST_PROP(Series, AgreesWithTheCompactOne, (const std::vector<uint32_t>& values)) {
  Series series(CompactSeries::capacity);
  CompactSeries compact;
  for (int round = 0; round < 50; ++round)
    for (size_t i = 0; i < values.size(); ++i) {
      const double time = double(round) * double(values.size()) + double(i);
      series.add(time, values[i]);
      compact.add({time, double(values[i])});
    }
  RC_ASSERT(series.size() == compact.buckets().size());
  RC_ASSERT(series.values() == compact.samples());
  for (size_t i = 0; i < series.size(); ++i) {
    RC_ASSERT(double(series[i].low) == compact.buckets()[i].lowest[0]);
    RC_ASSERT(double(series[i].high) == compact.buckets()[i].highest);
  }
}

}  // namespace plimsoll::verdict
