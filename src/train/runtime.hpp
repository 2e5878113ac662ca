// A recorded program made real: planned, mapped, every page touched, ready to replay. From here on nothing is
// allocated; what the plan says is what the process holds.
#pragma once
#include <memory>
#include <vector>

#include "checkpoint/safetensors.hpp"
#include "graph/executor.hpp"
#include "kernels/gemm/backend.hpp"
#include "model/program.hpp"
#include "platform/memory.hpp"
#include "train/settings.hpp"

namespace plimsoll {

// How the windows of a step are cut: `micro_batch` at once, `lanes` such micro-batches side by side, a thread each.
struct Cut {
  int micro_batch = 1, lanes = 1;
};
// The cut that is fastest without a memory line. The most windows at once whose activations still pass through the
// processor's caches: beyond some hundred tokens a micro-batch gains nothing and the step slows down on memory; wide
// models need more to pay for reading their weights. Lanes meet once a step instead of at every node, at the price of
// gradients of their own: for models whose gradients are small.
Cut fast_cut(int batch, int accumulate, const GptShape& shape, int threads);
// The most lanes worth having for `repeats` micro-batches of such a model.
int fast_lanes(int repeats, uint64_t parameters, int threads);
// The program a run with these settings records. `vocab` comes from the data.
ProgramOptions program_options(const Settings& settings, int vocab);
// Threads the settings mean here: 0 is every core this process may use.
int thread_count(const Settings& settings);

// The program and plan of a run, without its memory.
struct PlannedRun {
  Program program;
  Plan plan;
};
PlannedRun plan_run(const Settings& settings, int vocab, int threads, bool staging,
                    Effort effort = Effort::full);
// Whether the run's state is small enough to be copied first and written while training goes on.
bool saves_in_background(const ProgramOptions& options);

class Runtime {
 public:
  // With `staging`, room for a copy of parameters and moments is planned too, so that saving needs no waiting.
  Runtime(const ProgramOptions& options, int threads, const kernels::Backend& gemm, bool staging);

  // Starting values of parameters (a pure function of the seed) and zero moments.
  void initialise(uint64_t seed);
  std::vector<TensorSlot> model_slots() const;
  std::vector<TensorSlot> optimizer_slots() const;  // empty where nothing trains
  std::span<std::byte> staging() const;

  const Graph& graph() const { return *program.graph; }
  int threads() const { return pool_.threads(); }

  // In the order they are made: each needs those before it.
  Program program;

 private:
  ValueId staging_ = no_value;

 public:
  Plan plan;

 private:
  Pool pool_;
  Mapping memory_;

 public:
  Executor executor;
};

std::vector<TensorView> views(const std::vector<TensorSlot>& slots);

}  // namespace plimsoll
