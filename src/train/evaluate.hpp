// The mean loss over a fixed set of validation windows, and of samples also by what their provenance is worth.
#pragma once
#include "data/batches.hpp"
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

// With `scratch` for as many numbers as a window has targets, the losses of samples are also given by group. Allocates
// nothing.
ValidationLoss evaluate(Runtime& runtime, const Evaluation& windows, std::span<float> scratch = {});
// What a final figure is taken over: all of the validation part up to `most_tokens`, else that many, evenly spaced.
Evaluation final_windows(const Corpus& corpus, int context, uint64_t most_tokens = 200'000);

}  // namespace plimsoll
