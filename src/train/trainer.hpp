// A training run from start to result: prepares it, sets up its observers, runs the loop, and summarizes it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "data/sample_corpus.hpp"
#include "live/companion.hpp"
#include "train/evaluate.hpp"
#include "train/guard_log.hpp"
#include "train/loop.hpp"
#include "train/rank_figures.hpp"
#include "train/run_folder.hpp"
#include "verdict/verdict.hpp"

namespace plimsoll {

// What a run reports at its end.
struct TrainResult {
  using End = Loop::End;
  End end = End::finished;
  bool nothing_to_do =
      false;  // the run was complete before; what follows but the iterations and folder is not known
  uint64_t iterations = 0;  // done in all, those before a resume included
  bool complete = false;    // those are all that were asked for
  uint64_t parameters = 0;
  double loss = 0;  // mean over the last steps (up to 100)
  double validation_loss =
      0;  // over the final windows; where the run was left early, the last one along the way
  uint64_t validation_targets = 0;
  std::optional<uint64_t>
      validation_part;        // all targets the validation part has; nothing where it is endless
  ValidationLoss validation;  // by provenance too, at the end of a run on samples
  std::optional<SampleCorpus::Counts> samples;  // where the data is samples
  double distrust_lambda = 0;
  double cross_entropy = 0;     // as `loss`, without weights; NaN where there are none
  std::optional<double> floor;  // the data's entropy, nats per token
  double seconds = 0, iterations_per_second = 0, tokens_per_second = 0, seconds_to_first_step = 0;
  double milliseconds_per_step = 0;
  double processor_share = 0;                    // of the loop's time, that its threads ran
  std::optional<double> predicted_milliseconds;  // where a memory line was drawn
  uint64_t plan_bytes = 0, plan_lower_bound_bytes = 0;
  uint64_t rss_after_warmup = 0, rss_end = 0, rss_peak = 0;
  std::optional<uint64_t> allocations_after_warmup;  // nothing: not counted (sanitizers), or too short a run
  verdict::Verdict verdict;                          // about this process's own memory
  GuardReport guard;
  std::string gemm;
  int threads = 1;
  std::vector<RankFigures> ranks;               // where there are several, on rank 0
  std::optional<PictureFeed::Counts> pictures;  // where the data has any
  // Of the loop's time, that it waited for pictures to be decoded.
  double waiting_share() const { return pictures && seconds > 0 ? pictures->seconds_awaited / seconds : 0; }
  std::string folder;
};

// Runs from `start` to the last iteration, a signal, or a loss that is NaN or infinite. Human text goes to stdout, with
// `json` to stderr. `server` is told where the record is. Ranks train together; rank 0 writes and speaks for all.
TrainResult train(Start start, bool json, live::Companion* server = nullptr, const ranks::Team& team = {});

}  // namespace plimsoll
