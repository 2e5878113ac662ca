// Which windows make a step's batch, and which an evaluation: both pure functions of a number.
#pragma once
#include <cstdint>
#include <span>

#include "base/random.hpp"
#include "data/corpus.hpp"

namespace plimsoll {

// Training batches. The step is the whole cursor: the same (seed, step) gives the same batch, whatever came
// before.
class Batches {
 public:
  // InputError if the training part is shorter than one window of context + 1 tokens. `corpus` must outlive
  // this.
  Batches(const Corpus& corpus, uint64_t seed, int batch, int context);

  // Fills consecutive rows of context + 1 tokens, from row `first_row` of the step's batch on: row r is
  // [input 0, target 0 = input 1, …, target context-1]. As many rows as `tokens` holds; allocates nothing.
  void fill(uint64_t step, int first_row, std::span<int32_t> tokens) const;

 private:
  const Corpus& corpus_;
  CounterRng random_;
  uint64_t batch_;
  size_t row_tokens_;
};

// A fixed set of validation windows.
class Evaluation {
 public:
  // `windows` of them: evenly spaced over a validation part with an end (fewer where it has not that many
  // that do not overlap), the first ones of an endless one. InputError if the part is shorter than one
  // window.
  static Evaluation subset(const Corpus& corpus, int context, uint64_t windows);
  // The whole validation part in consecutive windows, so that every token but the first is a target exactly
  // once; of an endless one, the first `windows_if_endless` windows.
  static Evaluation whole(const Corpus& corpus, int context, uint64_t windows_if_endless);

  uint64_t windows() const { return windows_; }
  // Targets over all windows: what a mean loss divides by.
  uint64_t targets() const { return targets_; }
  // Fills a window of context + 1 tokens and returns how many of its targets, from the first on, count. What
  // follows those in the last, partial window is token 0. Allocates nothing.
  int fill(uint64_t window, std::span<int32_t> tokens) const;

 private:
  Evaluation(const Corpus& corpus, int context);
  const Corpus* corpus_;
  uint64_t context_, windows_ = 0, targets_ = 0;
  bool consecutive_ = false;
};

}  // namespace plimsoll
