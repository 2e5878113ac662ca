// A recorded program that is planned, mapped, and ready to replay, with every page touched. From then on
// nothing is allocated; the process holds what the plan states. Smaller ways to compute the same step can be
// prepared at the start and switched to later: parameters and moments are at the front of the mapping in all
// of them and stay in place, and memory the smaller plan does not need is returned to the system.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "checkpoint/safetensors.hpp"
#include "graph/executor.hpp"
#include "kernels/gemm/backend.hpp"
#include "model/program.hpp"
#include "platform/memory.hpp"
#include "train/way.hpp"

namespace plimsoll {

// The program and plan of a run, without its memory.
struct PlannedRun {
  Program program;
  Plan plan;
};
PlannedRun plan_run(const Settings& settings, int vocab, const Way& way, int threads,
                    Effort effort = Effort::full);

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

  // Starting values of the parameters that do not come from a file (a pure function of the seed) and zero moments.
  void initialise(uint64_t seed);
  std::vector<TensorSlot> model_slots() const;  // of what is trained
  // Of what comes from a published model, or the frozen part of it.
  std::vector<TensorSlot> given_slots(bool frozen_only) const;
  // All moments, each with the part of it that this rank has; empty where nothing trains.
  std::vector<TensorSlot> optimizer_slots() const;
  std::span<std::byte> staging() const;

  // Of the gear in use.
  const Program& program() const { return gears_[gear_].program; }
  const Plan& plan() const { return plan(gear_); }
  const Executor& executor() const { return gears_[gear_].executor; }
  Executor& executor() { return gears_[gear_].executor; }
  const Graph& graph() const { return *program().graph; }
  int threads() const { return pool_.threads(); }

  // The ways at hand, 0 being the one asked for, and the bytes each plan needs.
  size_t gears() const { return gears_.size(); }
  size_t gear() const { return gear_; }
  const Plan& plan(size_t gear) const { return gears_[gear].plan; }
  uint64_t plan_bytes(size_t gear) const { return plan(gear).total; }
  int micro_batch(size_t gear) const;
  // Between two steps: `gear` is in use from here on. A smaller plan's surplus is given back, a larger one's is touched
  // again. Allocates nothing.
  void shift(size_t gear);
  // Between two steps nothing but parameters, moments and staging need be kept: rest() gives the other bytes back, wake()
  // has them again before the next step. While resting, shift() only says how many those will be.
  void rest();
  void wake();
  bool resting() const { return resting_; }
  // What is wrong with the files weights are streamed from; empty where nothing is.
  std::string damage() const;
  uint64_t given_back() const { return resting_ ? plan().total - plan().persistent : 0; }

 private:
  struct Gear {
    Program program;
    Plan plan;
    Executor executor;
  };
  Gear make_gear(Program program, Plan plan, const kernels::Backend& gemm);
  TensorSlot slot(ValueId id) const;

  Pool pool_;
  Mapping memory_;
  std::vector<Gear> gears_;  // largest first
  size_t gear_ = 0;
  ValueId staging_ = no_value;  // of the first gear; lies at the same place in all
  bool resting_ = false;
  int rank_;
  bool eight_bit_;
};

std::vector<TensorView> views(const std::vector<TensorSlot>& slots);

}  // namespace plimsoll
