#include "base/units.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace plimsoll {

TEST(Units, SizesReadAsPeopleWriteThem) {
  EXPECT_EQ(parse_size("512MB").bytes, 512'000'000u);
  EXPECT_EQ(parse_size("1.5GiB").bytes, 1'610'612'736u);
  EXPECT_EQ(parse_size("4096").bytes, 4096u);
  EXPECT_EQ(parse_size("80%").of(1000), 800u);
}

TEST(Units, WhatIsNotASizeIsRefused) {
  for (const char* text : {"", "MB", "-1MB", "12XB", "101%", "nan", "1e300GB", "5 5MB"})
    EXPECT_THROW(parse_size(text), InputError) << text;
  EXPECT_THROW(parse_bytes("50%"), InputError);
}

TEST(Units, Durations) {
  EXPECT_DOUBLE_EQ(parse_duration("500ms"), 0.5);
  EXPECT_DOUBLE_EQ(parse_duration("5m"), 300);
  EXPECT_DOUBLE_EQ(parse_duration("2"), 2);
  EXPECT_THROW(parse_duration("soon"), InputError);
}

TEST(Units, Formatting) {
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(13'100'000), "13.1 MB");
  EXPECT_EQ(format_bytes(999'900'000), "1.00 GB");
  EXPECT_EQ(format_duration(200), "3m 20s");
  EXPECT_EQ(format_count(1234567), "1,234,567");
}

}  // namespace plimsoll
