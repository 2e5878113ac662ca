// Turns a request into a run that is ready for its first step: data opened, the way chosen, memory mapped,
// weights loaded. Nothing is written, and everything that can be refused has been refused.
//
//   PreparedRun run = prepare(find_start(sources));
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "data/batches.hpp"
#include "guard/policy.hpp"
#include "kernels/gemm/backend.hpp"
#include "optim/schedule.hpp"
#include "train/run_folder.hpp"
#include "train/runtime.hpp"

namespace plimsoll {

struct PreparedRun {
  ranks::Team team;
  Start start;  // its settings hold what the user said
  Way way;      // what that comes to
  // What is saved with the run: the state at its start, with the way in its settings, so that a resumed run keeps its bits.
  RunState saved;
  std::unique_ptr<Corpus> corpus;
  std::unique_ptr<Batches> batches;  // of the corpus
  Evaluation evaluation;             // the windows looked at along the way
  std::optional<double> floor;       // the data's entropy, nats per token, where it is known
  std::vector<int32_t> prompt;       // how samples begin
  Schedule schedule;
  std::optional<guard::Policy> policy;  // nothing: the guard is off
  kernels::Backend gemm;
  std::unique_ptr<Runtime> runtime;
  uint64_t overhead =
      0;  // bytes beside the plan, as measured before that was mapped: the program, its data, MPI

  const Settings& settings() const { return start.state.settings; }
  uint64_t tokens_per_step() const {
    return uint64_t(settings().batch) * uint64_t(settings().accumulate) * uint64_t(settings().context);
  }
};

// InputError for everything that makes the run impossible. `reading` hears how far the data has been read. Ranks prepare
// together, and refuse settings, data or a checkpoint that are not the same for all of them.
PreparedRun prepare(Start start, const ReadingProgress& reading = {}, const ranks::Team& team = {});

}  // namespace plimsoll
