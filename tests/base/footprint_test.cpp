#include "base/footprint.hpp"

#include <gtest/gtest.h>

namespace plimsoll {

TEST(Footprint, PssBeforeRssAndSwapOnTop) {
  EXPECT_EQ(footprint(100, 300, 0), 100);
  EXPECT_EQ(footprint(100, 300, 20), 120);
  EXPECT_EQ(footprint(0, 300, 20), 20) << "a PSS of nothing is known";
  EXPECT_EQ(footprint(-1, 300, 20), 320);
  EXPECT_EQ(footprint(-1, 300, -1), 300);
  EXPECT_LT(footprint(-1, -1, 20), 0) << "swap alone says nothing";
}

}  // namespace plimsoll
