#include "data/sample_stream.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace plimsoll {

SampleStream::SampleStream(const SampleCorpus& corpus, uint64_t seed, size_t buffer)
    : corpus_(corpus), epoch_tokens_(*corpus.tokens(Split::train) - 1), buffer_(seed, buffer) {
  begin_epoch(0);
}

void SampleStream::begin_epoch(uint64_t epoch) {
  epoch_ = epoch;
  buffer_.restart(epoch);
  place_ = {};
  text_ = {};
}

void SampleStream::next_sample() {
  corpus_.release(sample_);
  const auto source = [this](uint64_t& item) { return corpus_.next(Split::train, place_, item); };
  // Twice the end without a sample between: there are none left.
  for (int ends = 0; ends < 2;) {
    uint64_t offset = 0;
    if (!buffer_.draw(source, offset)) {
      begin_epoch(epoch_ + 1);
      ++ends;
      continue;
    }
    sample_ = corpus_.parse(offset, line_);
    if (sample_.problem) continue;  // left out by --skip-bad
    text_ = SampleTokens(corpus_.tokenizer(), sample_.text);
    distrust_ = static_cast<float>(distrust_loss(sample_.provenance));
    return;
  }
  fail("[data] the samples are no longer in the file ({}); do not change it while it is being read",
       corpus_.description());
}

void SampleStream::seek(uint64_t position) {
  if (position == position_) return;
  begin_epoch(position / epoch_tokens_);
  for (position_ = epoch_ * epoch_tokens_; position_ < position;) {
    if (text_.done()) next_sample();
    position_ += text_.skip(position - position_);
  }
}

void SampleStream::read(std::span<int32_t> tokens, std::span<float> distrust) {
  const size_t count = std::max(tokens.size(), distrust.size());
  for (size_t done = 0; done < count;) {
    if (text_.done()) next_sample();
    const size_t here = tokens.empty() ? text_.skip(count - done) : text_.read(tokens.subspan(done));
    if (!distrust.empty()) std::fill_n(distrust.begin() + static_cast<ptrdiff_t>(done), here, distrust_);
    done += here;
    position_ += here;
  }
}

}  // namespace plimsoll
