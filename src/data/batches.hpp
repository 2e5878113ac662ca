// Selects the windows of a training batch and of an evaluation; both are functions of one number.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "data/corpus.hpp"
#include "data/packed_corpus.hpp"
#include "data/sample_stream.hpp"

namespace plimsoll {

// How batches of samples are made; means nothing to a corpus without them.
struct SampleBatching {
  size_t shuffle_buffer = 4096;  // samples waiting
  double distrust_lambda = 0;    // strength of the weights; 0: there are none
};

// Training batches. The step is the whole cursor: the same (seed, step) gives the same batch, whatever came
// before. Windows of a text are drawn anywhere in it. Samples are read once an epoch, in shuffled order as
// one stream of tokens, which is cut so that the rows of a batch lie far apart in it and hold different samples,
// while each row goes on where it stopped the step before. Packed windows are visited once an epoch, in an order drawn
// for it.
class Batches {
 public:
  // InputError if the training part is shorter than one window of context + 1 tokens. `corpus` must outlive
  // this.
  Batches(const Corpus& corpus, uint64_t seed, int batch, int context, SampleBatching samples = {});

  // Fills consecutive rows of context + 1 tokens, from row `first_row` of the step's batch on: row r is
  // [input 0, target 0 = input 1, …, target context-1]. As many rows as `tokens` holds; allocates nothing.
  // `weights`, context a row, is for batches of samples with a distrust_lambda; their mean over the whole
  // batch is 1.
  void fill(uint64_t step, int first_row, std::span<int32_t> tokens, std::span<float> weights = {});

  // The same of a packed corpus: rows of the step's batch from `first_row` on, as many as `rows.targets` holds.
  void fill(uint64_t step, int first_row, const PackedCorpus::Row& rows) const;
  // Of a packed corpus: the window that is row `row` of the step's batch.
  uint64_t window(uint64_t step, uint64_t row) const { return visit(step * batch_ + row).window; }
  // Of a packed corpus: targets of the step over those that count; 0 if none does.
  float loss_scale(uint64_t step) const;

  // Of samples: so many windows of the stream, one after the other, are the row of as many steps.
  uint64_t steps_together() const { return steps_together_; }

 private:
  void read_stretch(uint64_t stretch);
  void weigh(uint64_t step);
  // The window of a packed corpus that is this row of all rows of the run, and whether selective loss is in force for it.
  struct Visit {
    uint64_t window;
    bool selective;
  };
  Visit visit(uint64_t row) const;
  // The first target of a row within what has been read.
  size_t target(uint64_t step, size_t row) const {
    return (row * steps_together_ + step % steps_together_) * (row_tokens_ - 1);
  }

  const Corpus& corpus_;
  uint64_t seed_;
  CounterRng random_;
  uint64_t batch_;
  size_t row_tokens_;
  // Of samples: what `steps_together_` steps read of the stream, row by row; and the weights of one step, which
  // depend on its whole batch.
  double distrust_lambda_;
  std::optional<SampleStream> stream_;
  uint64_t steps_together_ = 1;
  std::optional<uint64_t> stretch_, weighed_step_;
  std::vector<int32_t> tokens_;  // [batch * steps_together * context + 1]
  std::vector<float> distrust_;  // [batch * steps_together * context]
  std::vector<float> weights_;   // [batch * context]
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
  // The number of a window in a packed corpus.
  uint64_t number(uint64_t window) const { return place(window); }
  // Fills a window of a packed corpus.
  void fill(uint64_t window, const PackedCorpus::Row& row) const;
  // How many targets of the window count.
  int counted(uint64_t window) const;
  // Of a corpus of samples: the distrust losses of the samples the targets that count belong to. As many as
  // fill() returns.
  void distrust(uint64_t window, std::span<float> out) const;
  const Corpus& corpus() const { return *corpus_; }

 private:
  Evaluation(const Corpus& corpus, int context);
  uint64_t place(uint64_t window) const;
  const Corpus* corpus_;
  uint64_t context_, windows_ = 0, targets_ = 0;
  bool consecutive_ = false;
};

}  // namespace plimsoll
