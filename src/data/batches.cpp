#include "data/batches.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace plimsoll {
namespace {

constexpr uint64_t rows_apart = 4096;  // tokens of the stream between two rows of a batch

void require_window(const Corpus& corpus, Split split, int context) {
  if (context < 1) fail_input("[data] context {}; expected at least 1", context);
  const auto tokens = corpus.tokens(split);
  if (tokens && *tokens < static_cast<uint64_t>(context) + 1)
    fail_input(
        "[data] the {} split has {} tokens, context {} needs {} ({}); use more text or a smaller --context",
        split == Split::train ? "training" : "validation", *tokens, context, context + 1,
        corpus.description());
}

}  // namespace

Batches::Batches(const Corpus& corpus, uint64_t seed, int batch, int context, SampleBatching samples)
    : corpus_(corpus),
      seed_(seed),
      random_(seed, Stream::windows),
      batch_(batch),
      row_tokens_(static_cast<size_t>(context) + 1),
      distrust_lambda_(samples.distrust_lambda) {
  if (batch < 1) fail_input("[data] batch {}; expected at least 1", batch);
  require_window(corpus, Split::train, context);
  if (!corpus.samples()) return;
  const size_t targets = static_cast<size_t>(batch) * static_cast<size_t>(context);
  const uint64_t epoch = *corpus.tokens(Split::train) - 1;
  steps_together_ = std::clamp<uint64_t>(epoch / targets, 1, (rows_apart + context - 1) / context);
  stream_.emplace(*corpus.samples(), seed, samples.shuffle_buffer);
  tokens_.resize(targets * steps_together_ + 1);
  if (distrust_lambda_ > 0) {
    distrust_.resize(targets * steps_together_);
    weights_.resize(targets);
  }
}

// Windows overlap by one token, so that every token of the stream is a target once.
void Batches::read_stretch(uint64_t stretch) {
  if (stretch_ == stretch) return;
  stretch_ = stretch;
  const uint64_t first = stretch * (tokens_.size() - 1);
  if (first == 0) {
    stream_->seek(0);
    corpus_.window(Split::train, 0, std::span(tokens_).first(1));
  } else if (stream_->position() == first) {
    tokens_.front() = tokens_.back();
  } else {
    stream_->seek(first - 1);
    stream_->read(std::span(tokens_).first(1), {});
  }
  stream_->read(std::span(tokens_).subspan(1), distrust_);
}

void Batches::weigh(uint64_t step) {
  if (weighed_step_ == step) return;
  weighed_step_ = step;
  const size_t context = row_tokens_ - 1;
  for (size_t row = 0; row < batch_; ++row)
    std::copy_n(&distrust_[target(step, row)], context, &weights_[row * context]);
  distrust_weights(weights_, distrust_lambda_);
}

Batches::Visit Batches::visit(uint64_t row) const {
  const PackedCorpus& packed = *corpus_.packed();
  const uint64_t windows = packed.windows(Split::train), epoch = row / windows;
  return {permuted(row % windows, windows, seed_, epoch), packed.selective(epoch)};
}

void Batches::fill(uint64_t step, int first_row, const PackedCorpus::Row& rows) const {
  const size_t context = row_tokens_ - 1;
  for (size_t r = 0; r < rows.targets.size() / context; ++r) {
    const Visit here = visit(step * batch_ + static_cast<uint64_t>(first_row) + r);
    corpus_.packed()->fill(
        Split::train, here.window, here.selective,
        {rows.tokens.subspan(r * row_tokens_, row_tokens_), rows.targets.subspan(r * context, context),
         rows.positions.subspan(r * context, context)});
  }
}

float Batches::loss_scale(uint64_t step) const {
  uint64_t counted = 0;
  for (uint64_t r = 0; r < batch_; ++r) {
    const Visit here = visit(step * batch_ + r);
    counted += corpus_.packed()->targets(Split::train, here.window, here.selective);
  }
  return counted ? static_cast<float>(double(batch_ * (row_tokens_ - 1)) / double(counted)) : 0;
}

void Batches::fill(uint64_t step, int first_row, std::span<int32_t> tokens, std::span<float> weights) {
  if (stream_) {
    const size_t rows = tokens.size() / row_tokens_, first = static_cast<size_t>(first_row);
    read_stretch(step / steps_together_);
    for (size_t row = 0; row < rows; ++row)
      std::copy_n(&tokens_[target(step, first + row)], row_tokens_, &tokens[row * row_tokens_]);
    if (weights.empty()) return;
    weigh(step);
    std::copy_n(&weights_[first * (row_tokens_ - 1)], rows * (row_tokens_ - 1), weights.begin());
    return;
  }
  const auto available = corpus_.tokens(Split::train);
  uint64_t sample = step * batch_ + static_cast<uint64_t>(first_row);
  for (; tokens.size() >= row_tokens_; tokens = tokens.subspan(row_tokens_), ++sample)
    corpus_.window(Split::train, available ? random_.below(sample, *available - row_tokens_ + 1) : sample,
                   tokens.first(row_tokens_));
}

Evaluation::Evaluation(const Corpus& corpus, int context) : corpus_(&corpus), context_(context) {
  require_window(corpus, Split::validation, context);
}

Evaluation Evaluation::subset(const Corpus& corpus, int context, uint64_t windows) {
  if (windows < 1) fail_input("[data] an evaluation of {} windows; expected at least 1", windows);
  Evaluation result(corpus, context);
  const auto tokens = corpus.tokens(Split::validation);
  result.windows_ = tokens ? std::min(windows, (*tokens - 1) / context) : windows;
  result.targets_ = result.windows_ * context;
  if (const PackedCorpus* packed = corpus.packed()) {
    result.targets_ = 0;
    for (uint64_t w = 0; w < result.windows_; ++w)
      result.targets_ += packed->targets(Split::validation, result.place(w), false);
  }
  return result;
}

Evaluation Evaluation::whole(const Corpus& corpus, int context, uint64_t windows_if_endless) {
  const auto tokens = corpus.tokens(Split::validation);
  if (const PackedCorpus* packed = corpus.packed())
    return subset(corpus, context, packed->windows(Split::validation));
  if (!tokens) return subset(corpus, context, windows_if_endless);
  Evaluation result(corpus, context);
  result.consecutive_ = true;
  result.targets_ = *tokens - 1;
  result.windows_ = (result.targets_ + context - 1) / context;
  return result;
}

uint64_t Evaluation::place(uint64_t window) const {
  if (const PackedCorpus* packed = corpus_->packed())  // the number of a window, not of a token
    return window * packed->windows(Split::validation) / windows_;
  if (consecutive_) return window * context_;
  const auto available = corpus_->tokens(Split::validation);
  if (!available) return window;
  const uint64_t last = *available - context_ - 1;
  return windows_ == 1
             ? 0
             : static_cast<uint64_t>(static_cast<unsigned __int128>(last) * window / (windows_ - 1));
}

int Evaluation::counted(uint64_t window) const {
  return static_cast<int>(consecutive_ ? std::min(context_, targets_ - window * context_) : context_);
}

int Evaluation::fill(uint64_t window, std::span<int32_t> tokens) const {
  if (window >= windows_ || tokens.size() != context_ + 1)
    fail("[data] window {} of {} tokens; the evaluation has {} of {}", window, tokens.size(), windows_,
         context_ + 1);
  const int count = counted(window);
  corpus_->window(Split::validation, place(window), tokens.first(static_cast<size_t>(count) + 1));
  std::fill(tokens.begin() + count + 1, tokens.end(), 0);
  return count;
}

void Evaluation::fill(uint64_t window, const PackedCorpus::Row& row) const {
  corpus_->packed()->fill(Split::validation, place(window), false, row);
}

void Evaluation::distrust(uint64_t window, std::span<float> out) const {
  corpus_->samples()->distrust(Split::validation, place(window) + 1,
                               out.first(static_cast<size_t>(counted(window))));
}

}  // namespace plimsoll
