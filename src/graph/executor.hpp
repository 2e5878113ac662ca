// Replays the lists of a planned graph over one mapping. Everything is resolved when it is made: addresses, parts,
// backends; a replay allocates nothing, dispatches nothing but the node's own kernel.
#pragma once
#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

#include "graph/graph.hpp"
#include "graph/plan.hpp"
#include "graph/pool.hpp"

namespace plimsoll {

class Executor {
 public:
  struct Options {
    const kernels::Table* kernels = nullptr;  // null: the best this processor runs
    kernels::GemmFunction gemm = nullptr;     // null: the table's own
  };
  // `memory` holds plan.total bytes, aligned to plan_alignment, and outlives the executor; so do the graph and the
  // plan's table of places (the plan itself may be moved).
  Executor(const Graph& graph, const Plan& plan, Pool& pool, std::byte* memory, Options options);

  float* data(ValueId id) const {
    return reinterpret_cast<float*>(memory_ + places_[static_cast<size_t>(id)].offset);
  }
  int32_t* tokens(ValueId id) const { return reinterpret_cast<int32_t*>(data(id)); }

  // Runs the list once: before each micro-batch `fill(micro)` writes its input. Where it returns false the run is
  // abandoned and so is this: parameters and moments, which only the nodes after the loop change, are as before.
  template <typename Fill>
  bool run(int list, Moment now, Fill&& fill) {
    const Bound& bound = lists_[static_cast<size_t>(list)];
    for (int micro = 0; micro < bound.repeats; ++micro) {
      now.micro = micro;
      if constexpr (std::is_same_v<decltype(fill(micro)), bool>) {
        if (!fill(micro)) return false;
      } else {
        fill(micro);
      }
      replay(bound, 0, bound.loop_end, now);
    }
    replay(bound, bound.loop_end, bound.steps.size(), now);
    return true;
  }
  void run(int list, const Moment& now) {
    run(list, now, [](int) {});
  }

 private:
  struct Step {
    const Op* op;
    Frame frame;  // scratch and moment are filled in per part
    int parts;
  };
  struct Bound {
    std::vector<Step> steps;
    size_t loop_end = 0;
    int repeats = 1;
    std::vector<std::unique_ptr<float*[]>> pointers;
    std::vector<std::unique_ptr<Type[]>> types;
  };
  void replay(const Bound& bound, size_t begin, size_t end, const Moment& now);

  const Place* places_;
  uint64_t scratch_offset_, scratch_per_thread_;
  Pool* pool_;
  std::byte* memory_;
  std::vector<Bound> lists_;
};

}  // namespace plimsoll
