// Replays the lists of a planned graph over one mapping. Addresses, parts and backends are resolved in the
// constructor; a replay allocates nothing and dispatches only to each node's kernel.
#pragma once
#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

#include "graph/fetch.hpp"
#include "graph/graph.hpp"
#include "graph/plan.hpp"
#include "graph/pool.hpp"

namespace plimsoll {

// Asked by the thread that runs a list, between two nodes and every few milliseconds of work: whether to leave it where
// it is. May not throw.
struct Interrupt {
  bool (*asked)(void* of) = nullptr;  // null: never
  void* of = nullptr;
  bool operator()() const { return asked && asked(of); }
};

// Into how many parts a node is cut that `threads` may share.
int parts_for(const Op& op, std::span<const Type> in, std::span<const Type> out, int threads);

class Executor {
 public:
  struct Options {
    const kernels::Table* kernels = nullptr;  // null: the best this processor runs
    kernels::GemmFunction gemm = nullptr;     // null: the table's own
    Fetcher* source = nullptr;                // of fetched values, where there are any
  };
  // `memory` holds plan.total bytes, aligned to plan_alignment, and outlives the executor; so do the graph and the
  // plan's table of places (the plan itself may be moved).
  Executor(const Graph& graph, const Plan& plan, Pool& pool, std::byte* memory, Options options);

  // The elements of a value, which must be of this type; with leaves, the copy of the list's own leaf number `leaf`.
  template <typename T = float>
  T* data(ValueId id, int leaf = 0) const {
    check(id, DTypeOf<T>::value);
    return reinterpret_cast<T*>(bytes(id, leaf));
  }
  int32_t* tokens(ValueId id, int leaf = 0) const { return data<int32_t>(id, leaf); }
  std::byte* bytes(ValueId id, int leaf = 0) const {
    return memory_ + places_[static_cast<size_t>(id)].of_lane(leaf);
  }

  // Runs the list once: before each micro-batch `fill(micro, leaf)` writes the leaf's input, one call at a time. Where
  // it returns false, or `interrupt` true within the loop, or a value could not be fetched, the run is abandoned and this
  // returns false: parameters and moments, which only the nodes after the loop change, are as before. `leave` is asked
  // once, after the loop or before the first node that commits(): whether to abandon the run even so. From then on it is
  // not interrupted.
  template <typename Fill>
  bool run(int list, Moment now, Fill&& fill, Interrupt interrupt = {}, Interrupt leave = {}) {
    const Bound& bound = lists_[static_cast<size_t>(list)];
    for (int micro = bound.leaves.first; micro < bound.repeats; micro += bound.leaves.all, ++now.round) {
      const int leaves = std::min(bound.leaves.count, bound.repeats - micro);
      for (int first = 0; first < leaves; first += bound.lanes) {
        const int lanes = std::min(bound.lanes, leaves - first);
        for (int leaf = first; leaf < first + lanes; ++leaf) {
          if constexpr (std::is_same_v<decltype(fill(micro, leaf)), bool>) {
            if (!fill(micro + leaf, leaf)) return false;
          } else {
            fill(micro + leaf, leaf);
          }
        }
        now.micro = micro + first;
        now.last = first + lanes == leaves && micro + bound.leaves.all >= bound.repeats;
        const size_t loop = bound.loop_of(first);
        const bool ended = bound.lanes == 1
                               ? replay(bound, loop, loop + bound.loop_end, now, interrupt, leave)
                               : replay_lanes(bound, first, lanes, now, interrupt);
        if (!fetched(ended) || !ended) return false;
      }
    }
    if (!bound.commits && leave()) return false;
    now.micro = now.round = 0;  // updates inside the backward pass leave some of it here
    replay(bound, bound.loop_end, bound.loop_end + bound.rest, now);
    return true;
  }
  bool run(int list, const Moment& now, Interrupt interrupt = {}) {
    return run(
        list, now, [](int, int) {}, interrupt);
  }

 private:
  struct Step {
    const Op* op;
    size_t operands;  // inputs, then outputs
    Frame frame;      // scratch and moment are filled in per part
    int parts;
    bool asks;             // for an interrupt before it: enough work lies behind
    bool commits;          // the first in the loop that does
    const int32_t* count;  // of its condition; null: none
    int64_t above;
    int together = 1;  // with those behind it, at once: none needs another's bytes
    bool runs() const { return !count || *count > above; }
  };
  struct Bound {
    std::vector<Step> steps;  // the loop as leaf 0 sees it, the rest, then the loop of the other leaves
    size_t loop_end = 0, rest = 0;
    int repeats = 1, lanes = 1;
    bool commits = false;  // a node within the loop does
    LeafRange leaves;
    size_t loop_of(int leaf) const { return leaf == 0 ? 0 : rest + loop_end * static_cast<size_t>(leaf); }
    std::vector<std::unique_ptr<Operand[]>> operands;
  };
  float* scratch(int slot) const {
    return reinterpret_cast<float*>(memory_ + scratch_offset_ +
                                    scratch_per_thread_ * static_cast<uint64_t>(slot));
  }
  void bind(Bound& bound, const Graph& graph, const Node& node, int leaf, int threads,
            const Options& options);
  static bool meet(const Step& a, const Step& b);
  static void join_small(Bound& bound);
  bool replay(const Bound& bound, size_t begin, size_t end, const Moment& now, Interrupt interrupt = {},
              Interrupt leave = {});
  bool replay_lanes(const Bound& bound, int first, int lanes, const Moment& now, Interrupt interrupt);
  void check(ValueId id, DType dtype) const;
  // Whether everything that was to be fetched has been; where the list was left, waits until nothing is on its way.
  bool fetched(bool ended) const {
    if (!source_) return true;
    if (!ended) source_->drain();
    return !source_->failed();
  }

  const kernels::Table* kernels_;
  const Graph* graph_;
  const Place* places_;
  uint64_t scratch_offset_, scratch_per_thread_;
  Pool* pool_;
  Fetcher* source_;
  std::byte* memory_;
  std::vector<Bound> lists_;
  double unasked_work_ = 0;  // while binding: since the last node that asks
};

}  // namespace plimsoll
