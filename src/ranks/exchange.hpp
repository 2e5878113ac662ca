// The nodes of a step that ranks do together: gradients are added up at their owners, partial sums of squares and updated
// parameters are handed to everybody. Every sum follows the tree of the leaves (graph/leaf_tree.hpp), so its bits do
// not depend on the number of ranks.
#pragma once
#include <memory>

#include "graph/ops.hpp"
#include "ranks/communicator.hpp"
#include "ranks/shards.hpp"

namespace plimsoll::ranks {

// What the nodes of one rank have in common. Without a communicator they can be planned but not run.
struct Exchange {
  Team team;
  int rank = 0, ranks = 1, leaves = 1;  // leaves: of all ranks
  std::vector<Shard> shards;
  std::vector<size_t> order;  // the numbers of the parameters as the backward pass completes their gradients

  const Shard& own() const { return shards[static_cast<size_t>(rank)]; }
  LeafRange leaves_of(int r) const { return plimsoll::leaves_of(r, ranks, leaves); }
};
using ExchangePointer = std::shared_ptr<const Exchange>;
class Reduction;
using ReductionPointer = std::shared_ptr<Reduction>;

ReductionPointer make_reduction(ExchangePointer exchange);
// Type of the buffer it receives in.
Type reduction_buffer(const Exchange& exchange);
// gradients, losses [1]... -> the same, and the buffer: an owned piece of a gradient is the sum of all leaves afterwards, and
// so is every loss; the rest of a gradient is of no use any more. After ops::reduce_lanes().
ops::OpPointer reduce_to_owners(ExchangePointer exchange, ReductionPointer reduction);
// The same beside the backward pass, where leaves run one after the other. Gradients that are complete now, the next ones of
// the exchange's order from number `first` on -> the same, and the buffer: for the last micro-batch of a step, adds up the
// own leaves and begins to exchange them. From the first such node on, the step cannot be left.
ops::OpPointer begin_reduction(ExchangePointer exchange, ReductionPointer reduction, size_t first);
// As reduce_to_owners, once all gradients were begun.
ops::OpPointer end_reduction(ExchangePointer exchange, ReductionPointer reduction);
// partials [blocks, 2] -> the same: a row for each shard_block elements of every parameter, in order; the owners' go to all.
ops::OpPointer share_partials(ExchangePointer exchange, std::span<const int64_t> elements);
// parameters -> the same: the owners' pieces go to all.
ops::OpPointer share_parameters(ExchangePointer exchange);

}  // namespace plimsoll::ranks
