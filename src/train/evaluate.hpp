// The mean loss over a fixed set of validation windows.
#pragma once
#include "data/batches.hpp"
#include "train/runtime.hpp"

namespace plimsoll {

// Nats per token; allocates nothing.
double evaluate(Runtime& runtime, const Evaluation& windows);
// What a final figure is taken over: all of the validation part up to `most_tokens`, else that many, evenly spaced.
Evaluation final_windows(const Corpus& corpus, int context, uint64_t most_tokens = 200'000);

}  // namespace plimsoll
