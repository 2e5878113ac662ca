#include "base/nearest.hpp"

#include <gtest/gtest.h>

namespace plimsoll {

TEST(Nearest, FewestEditsWin) {
  std::vector<std::string> known = {"layers", "heads", "lr", "eval_every"};
  EXPECT_EQ(nearest("lyers", known), "layers");
  EXPECT_EQ(nearest("head", known), "heads");
  EXPECT_EQ(nearest("eval-every", known), "eval_every");
  EXPECT_EQ(nearest("", known), "lr");
  EXPECT_EQ(nearest("x", {}), "");
  EXPECT_FALSE(nearest(std::string(1000000, 'x'), known).empty());
}

}  // namespace plimsoll
