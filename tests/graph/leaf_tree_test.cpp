// The tree of leaves: its shape, and that any division among processes builds the same one.
#include "graph/leaf_tree.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace plimsoll {
namespace {

// The whole tree as text.
std::string whole(int begin, int end) {
  if (end - begin == 1) return std::to_string(begin);
  const int middle = begin + left_leaves(end - begin);
  return "(" + whole(begin, middle) + "+" + whole(middle, end) + ")";
}

TEST(LeafTree, LeftHalvesAreCompleteSubtrees) {
  EXPECT_EQ(whole(0, 1), "0");
  EXPECT_EQ(whole(0, 3), "((0+1)+2)");
  EXPECT_EQ(whole(0, 5), "(((0+1)+(2+3))+4)");
  EXPECT_EQ(whole(0, 7), "(((0+1)+(2+3))+((4+5)+6))");
}

// Every process adds within its range, then one adds what they are left with: always the same tree.
TEST(LeafTree, AnyNumberOfProcessesBuildsTheSameTree) {
  for (int all = 1; all <= 17; ++all)
    for (int ranks = 1; ranks <= all; ++ranks) {
      std::map<int, std::string> sums;
      std::map<int, int> known;
      int covered = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const LeafRange range = leaves_of(rank, ranks, all);
        ASSERT_EQ(range.first, covered);
        ASSERT_GE(range.count, 1);
        covered += range.count;
        for (int leaf = range.first; leaf < covered; ++leaf) sums[leaf] = std::to_string(leaf);
        add_within(range, [&](int left, int right) {
          EXPECT_GE(left, range.first);
          EXPECT_LT(right, range.first + range.count);
          sums[left] = "(" + sums[left] + "+" + sums[right] + ")";
        });
        largest_within(range, [&](int begin, int end) { known[begin] = end; });
      }
      EXPECT_EQ(covered, all);
      EXPECT_TRUE(add_tree(
          0, all,
          [&](int begin, int end) {
            const auto found = known.find(begin);
            return found != known.end() && found->second == end;
          },
          [](int, int) { return false; },
          [&](int left, int right) { sums[left] = "(" + sums[left] + "+" + sums[right] + ")"; }));
      EXPECT_EQ(sums[0], whole(0, all)) << ranks << " of " << all;
    }
}

}  // namespace
}  // namespace plimsoll
