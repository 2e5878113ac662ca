// The mean loss over a fixed set of validation windows and, for samples, by provenance.
#pragma once
#include <optional>
#include <string>

#include "data/batches.hpp"
#include "train/picture_feed.hpp"
#include "train/runtime.hpp"

namespace plimsoll {

struct GroupLoss {
  double loss = 0;  // nats per token; NaN where there are none
  uint64_t targets = 0;
};

struct ValidationLoss {
  double loss = 0;  // nats per token
  // Of samples: those whose distrust loss is above the mean of the data, so that their weight is above 1, and the rest.
  bool grouped = false;
  GroupLoss high, low;
  bool two_groups() const { return high.targets > 0 && low.targets > 0; }
};

// One pass over the windows, which can be left and gone on with. Allocates nothing. Ranks divide the windows; rank 0 adds
// all losses in the order of the windows, so that the sum has the same bits for any number of ranks.
class EvaluationPass {
 public:
  // With `scratch` for as many numbers as a window has targets, the losses of samples are also given by group. Rank 0 of
  // several needs `received` for as many numbers as an evaluation pass has targets. `pictures` brings those of the windows,
  // where they have any.
  explicit EvaluationPass(const Evaluation& windows, std::span<float> scratch = {},
                          const ranks::Team& team = {}, std::span<float> received = {},
                          PictureFeed* pictures = nullptr);

  // Goes on to the end; false where `interrupt` asked to leave, on any rank. The runtime may be shifted before the next
  // call.
  bool advance(Runtime& runtime, Interrupt interrupt = {});
  // Once advance() has returned true.
  ValidationLoss result() const;

 private:
  void fill(Runtime& runtime, uint64_t first, int64_t count) const;
  void add(uint64_t first, int64_t count, int64_t T, const float* losses);

  const Evaluation windows_;
  std::span<float> scratch_, received_;
  const ranks::Team team_;
  PictureFeed* pictures_;
  const SampleCorpus* samples_;
  double bar_ = 0;  // of distrust: above it provenance is high
  uint64_t next_ = 0;
  struct Sums {
    double all = 0;
    GroupLoss high, low;
  } sums_;
};
ValidationLoss evaluate(Runtime& runtime, const Evaluation& windows, std::span<float> scratch = {});

// What a final figure is taken over: all of the validation part up to `most_tokens`, else that many, evenly spaced.
struct FinalWindows {
  Evaluation windows;
  std::optional<uint64_t> part;  // targets the whole part has; nothing where it is endless
};
FinalWindows final_windows(const Corpus& corpus, int context, uint64_t most_tokens = 200'000);
// "200,000 of 1,234,567 tokens", or "111,539 tokens" where that is all.
std::string targets_text(uint64_t targets, std::optional<uint64_t> part);

}  // namespace plimsoll
