// The parts of a run's memory add up to what was measured last.
#include "report/memory_parts.hpp"

#include <gtest/gtest.h>

namespace plimsoll::report {
namespace {

RunData trained(int64_t measured) {
  RunData data;
  data.plan_roles = {{"total", 1000}, {"image cache", 300}, {"image buffer", 600}, {"inputs", 20}};
  data.memory.resize(2);
  data.memory[0].rss = 5;
  data.memory[1].rss = measured;
  return data;
}

TEST(MemoryParts, AddUpToWhatWasMeasuredLast) {
  const auto parts = memory_parts(trained(1700));
  ASSERT_EQ(parts.size(), 5u);
  EXPECT_EQ(parts[0].name, "image buffer");
  EXPECT_EQ(parts[3].name, "gaps of the plan");
  EXPECT_EQ(parts[3].bytes, 80);
  EXPECT_EQ(parts[4].bytes, 700);
  int64_t sum = 0;
  for (const MemoryPart& part : parts) sum += part.bytes;
  EXPECT_EQ(sum, 1700);
  EXPECT_NE(memory_sum(trained(1700)).find("= 1.70 kB measured"), std::string::npos)
      << memory_sum(trained(1700));
}

TEST(MemoryParts, AreNotMadeUpOfARecordThatDoesNotHaveThem) {
  EXPECT_TRUE(memory_parts({}).empty());
  EXPECT_TRUE(memory_parts(trained(999)).empty());
  RunData hostile = trained(1700);
  hostile.plan_roles.push_back({"more", INT64_MAX});
  EXPECT_TRUE(memory_parts(hostile).empty());
  hostile.plan_roles.back().bytes = -1;
  EXPECT_TRUE(memory_sum(hostile).empty());
}

}  // namespace
}  // namespace plimsoll::report
