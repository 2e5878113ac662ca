// The training samples of a corpus as one endless stream of tokens: epoch after epoch, each in a different
// order, drawn from a shuffle buffer. A position in the stream is a number of tokens, which is the whole cursor.
#pragma once
#include <vector>

#include "data/sample_corpus.hpp"
#include "data/shuffle_buffer.hpp"

namespace plimsoll {

class SampleStream {
 public:
  // `corpus` must outlive this; its training part must not be empty. All memory is taken here.
  SampleStream(const SampleCorpus& corpus, uint64_t seed, size_t buffer);

  uint64_t position() const { return position_; }
  // Goes to a place by drawing the epoch it lies in from the start again: as far as that is into the file, so much is
  // read, never more than opening it did.
  void seek(uint64_t position);
  // The next tokens, and for each the distrust loss of the sample it belongs to. Either may be left out. Allocates
  // nothing.
  void read(std::span<int32_t> tokens, std::span<float> distrust);

 private:
  void begin_epoch(uint64_t epoch);
  void next_sample();

  const SampleCorpus& corpus_;
  uint64_t epoch_tokens_;
  ShuffleBuffer buffer_;
  SampleCorpus::Place place_;
  std::vector<char> line_ = std::vector<char>(1 << 16);
  SampleLine sample_;  // may lie in line_
  SampleTokens text_;
  float distrust_ = 0;
  uint64_t position_ = 0, epoch_ = 0;
};

}  // namespace plimsoll
