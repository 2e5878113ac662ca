// The order in which partial sums of a gradient are added: one binary tree over the numbers of the leaves, whoever
// holds them. The left half of a node with n leaves has the largest power of two below n, so complete subtrees are
// aligned, and however the leaves are divided among processes, each process can add what lies within its own range.
//
//   0 1 2 3 4   ->   ((0 + 1) + (2 + 3)) + 4
#pragma once
#include <bit>

namespace plimsoll {

// Leaves [first, first + count) of `all`.
struct LeafRange {
  int first = 0, count = 1, all = 1;
  bool operator==(const LeafRange&) const = default;
};

// The leaves of process `rank` of `ranks`.
inline LeafRange leaves_of(int rank, int ranks, int all) {
  const auto begin = [&](int r) { return static_cast<int>(static_cast<long long>(all) * r / ranks); };
  return {begin(rank), begin(rank + 1) - begin(rank), all};
}

inline int left_leaves(int count) {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(count - 1)));
}

// Goes through the tree over [begin, end) from the leaves to the root. Where `known(begin, end)`, a node's sum is there
// already; otherwise the sum of its right half is added to that of its left half by `add(left, right)`, both named by their
// first leaf. Nodes for which `outside(begin, end)` holds are left out, and their parents are not added.
// Returns whether the node has its sum.
template <typename Known, typename Outside, typename Add>
bool add_tree(int begin, int end, const Known& known, const Outside& outside, const Add& add) {
  if (outside(begin, end)) return false;
  if (known(begin, end)) return true;
  const int middle = begin + left_leaves(end - begin);
  const bool left = add_tree(begin, middle, known, outside, add);
  const bool right = add_tree(middle, end, known, outside, add);
  if (left && right) add(begin, middle);
  return left && right;
}

// Adds what can be added among the leaves of `range`: add(left, right).
template <typename Add>
void add_within(const LeafRange& range, const Add& add) {
  add_tree(
      0, range.all, [](int begin, int end) { return end - begin == 1; },
      [&](int begin, int end) { return end <= range.first || begin >= range.first + range.count; }, add);
}

// Calls node(begin, end) for each largest subtree within the range, from left to right: what add_within leaves.
template <typename Node>
void largest_within(const LeafRange& range, const Node& node, int begin, int end) {
  const int last = range.first + range.count;
  if (end <= range.first || begin >= last) return;
  if (begin >= range.first && end <= last) return node(begin, end);
  const int middle = begin + left_leaves(end - begin);
  largest_within(range, node, begin, middle);
  largest_within(range, node, middle, end);
}
template <typename Node>
void largest_within(const LeafRange& range, const Node& node) {
  largest_within(range, node, 0, range.all);
}

}  // namespace plimsoll
