#include "live/terminal.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace plimsoll::live {
namespace {

TEST(Terminal, CutsByColumnsNotBytes) {
  EXPECT_EQ(clip("hello", 10), "hello");
  EXPECT_EQ(clip("hello", 3), "hel");
  EXPECT_EQ(clip("▁▂▃", 2), "▁▂");
  EXPECT_EQ(clip("日本語", 4), "日本");  // wide: two columns each
  EXPECT_EQ(clip("日本語", 5), "日本");
  EXPECT_EQ(clip("e\u0301x", 1), "e\u0301");
  EXPECT_EQ(clip("\x1b[31mred\x1b[0m", 3), "\x1b[31mred\x1b[0m");
  EXPECT_EQ(clip("\x1b[31mred", 2), "\x1b[31mre");
  EXPECT_EQ(clip("\x1b[31", 2), "\x1b[31");
  EXPECT_EQ(clip("", 0), "");
}

TEST(Terminal, SparksHaveEightHeights) {
  EXPECT_EQ(spark(0, true), "▁");
  EXPECT_EQ(spark(7, true), "█");
  EXPECT_EQ(spark(99, false), "#");
  EXPECT_EQ(spark(-1, false), "_");
}

TEST(Terminal, NothingIsDrawnWhereThereIsNone) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  {
    BottomRows rows(ends[1]);
    rows.draw("a\nb\n");
  }
  close(ends[1]);
  char text[16];
  EXPECT_EQ(read(ends[0], text, sizeof text), 0);
  close(ends[0]);
}

}  // namespace
}  // namespace plimsoll::live
