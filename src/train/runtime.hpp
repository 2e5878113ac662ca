// A recorded program made real: planned, mapped, every page touched, ready to replay. From here on nothing is
// allocated; what the plan says is what the process holds. Smaller ways to compute the same step can be made at the
// start and shifted to later: parameters and moments lie at the front of the mapping in all of them and stay where they
// are, and what the smaller plan does not need is the system's again.
#pragma once
#include <functional>
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
Cut fast_cut(int batch, int accumulate, const ModelSpec& model, int threads);
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
  // `smaller` are other ways to compute the same step, largest first; those that save too little to be worth it are
  // left out. `fits` is shown the plan's bytes before they are mapped, and may refuse them.
  struct Extras {
    std::vector<ProgramOptions> smaller;
    std::function<void(uint64_t)> fits;
  };
  Runtime(const ProgramOptions& options, int threads, const kernels::Backend& gemm, bool staging,
          const Extras& extras = {{}, {}});

  // Starting values of parameters (a pure function of the seed) and zero moments.
  void initialise(uint64_t seed);
  std::vector<TensorSlot> model_slots() const;
  std::vector<TensorSlot> optimizer_slots() const;  // empty where nothing trains
  std::span<std::byte> staging() const;

  const Graph& graph() const { return *program.graph; }
  int threads() const { return pool_.threads(); }

  // The ways at hand, 0 being the one asked for, and the bytes each plan needs.
  size_t gears() const { return others_.size() + 1; }
  size_t gear() const { return gear_; }
  uint64_t plan_bytes(size_t gear) const;
  int micro_batch(size_t gear) const;
  // Between two steps: `program`, `plan` and `executor` are those of `gear` from here on. A smaller plan's surplus is
  // given back, a larger one's is touched again. Allocates nothing.
  void shift(size_t gear);
  // Between two steps nothing but parameters, moments and staging need be kept: rest() gives the other bytes back, wake()
  // has them again before the next step. While resting, shift() only says how many those will be.
  void rest();
  void wake();
  bool resting() const { return resting_; }
  uint64_t given_back() const { return resting_ ? plan.total - plan.persistent : 0; }

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

 private:
  struct Gear {
    Program program;
    Plan plan;
    Executor executor;
  };
  const Gear& other(size_t gear) const { return others_[gear < gear_ ? gear : gear - 1]; }

  std::vector<Gear> others_;  // in order, without the one in use
  size_t gear_ = 0;
  bool resting_ = false;
};

std::vector<TensorView> views(const std::vector<TensorSlot>& slots);

}  // namespace plimsoll
