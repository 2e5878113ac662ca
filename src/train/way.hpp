// A way to compute a step: how its windows are split, what the backward pass recomputes, how many rows of
// logits are held at once, and whether a checkpoint is copied before it is written. Ways differ in memory and
// time; the mathematics is the same. The settings hold the user's request, a `Way` the resulting choice.
#pragma once
#include <cstdint>
#include <string>

#include "model/program.hpp"
#include "train/settings.hpp"

namespace plimsoll {

// How the windows of a step are cut: `micro_batch` at once, `lanes` such micro-batches side by side, a thread each.
struct Cut {
  int micro_batch = 1, lanes = 1;
};
// The cut that is fastest without a memory line. The most windows at once whose activations still pass through the
// processor's caches: beyond some hundred tokens a micro-batch gains nothing and the step slows down on memory; wide
// models need more to pay for reading their weights. Lanes synchronize once per step instead of at every node, at the price of
// gradients of their own: for models whose gradients are small.
Cut fast_cut(int batch, int accumulate, const ModelSpec& model, int threads);
// Whether a model's gradients are so many bytes that none should be kept longer than needed. Where none is, activations are
// what else takes memory: making norms and activation functions again costs a hundredth of the time.
bool updates_early(const ModelSpec& model);
constexpr RecomputeChoice recompute_with_early_updates{Recompute::cheap, 0};
// The most lanes worth having for `repeats` micro-batches of such a model.
int fast_lanes(int repeats, uint64_t trained, int threads);
// Lanes for a process that has `leaves` to compute whatever they cost: as many as threads, one where some would idle.
int lanes_for(int leaves, int threads);

struct Way {
  int micro_batch = 1, lanes = 1;
  int leaves = 0;  // partial sums of the gradient, those of all ranks; 0: one for each lane
  RecomputeChoice recompute{Recompute::nothing, 0};
  int loss_rows = 0;  // 0: as many as are fast
  bool staging = true;
  bool stream = false;      // frozen matrices are read when they are needed
  uint64_t plan_bytes = 0;  // 0: not planned yet
  uint64_t heap_bytes =
      0;  // what the recorded step takes beside the plan, where that is more than a small one's
  uint64_t read_bytes = 0;  // of files in a step
  double seconds = 0;       // of one step at the speed of the table in budget.cpp; 0: not planned yet

  uint64_t bytes() const { return plan_bytes + heap_bytes; }
  std::string text() const;  // "micro-batch 4, recompute cheap, background checkpoints"
};

// Threads the settings mean here: 0 is every core this process may use.
int thread_count(const Settings& settings);
// What the settings mean where no memory line is drawn. `vocab` comes from the data.
Way stated_way(const Settings& settings, int vocab);
// The program a run with these settings records, computed that way.
ProgramOptions program_options(const Settings& settings, int vocab, const Way& way);
inline ProgramOptions program_options(const Settings& settings, int vocab) {
  return program_options(settings, vocab, stated_way(settings, vocab));
}
// Whether the run's state is small enough to be copied first and written while training goes on.
bool saves_in_background(const ProgramOptions& options);

// The settings as they are saved with the run, so that a resumed one computes the same way.
Settings with_way(Settings settings, const Way& way);

}  // namespace plimsoll
