#include "data/batches.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace plimsoll {
namespace {

void require_window(const Corpus& corpus, Split split, int context) {
  if (context < 1) fail_input("[data] context {}; expected at least 1", context);
  const auto tokens = corpus.tokens(split);
  if (tokens && *tokens < static_cast<uint64_t>(context) + 1)
    fail_input(
        "[data] the {} part has {} tokens, context {} needs {} ({}); use more text or a smaller --context",
        split == Split::train ? "training" : "validation", *tokens, context, context + 1,
        corpus.description());
}

}  // namespace

Batches::Batches(const Corpus& corpus, uint64_t seed, int batch, int context)
    : corpus_(corpus),
      random_(seed, Stream::windows),
      batch_(batch),
      row_tokens_(static_cast<size_t>(context) + 1) {
  if (batch < 1) fail_input("[data] batch {}; expected at least 1", batch);
  require_window(corpus, Split::train, context);
}

void Batches::fill(uint64_t step, int first_row, std::span<int32_t> tokens) const {
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
  return result;
}

Evaluation Evaluation::whole(const Corpus& corpus, int context, uint64_t windows_if_endless) {
  const auto tokens = corpus.tokens(Split::validation);
  if (!tokens) return subset(corpus, context, windows_if_endless);
  Evaluation result(corpus, context);
  result.consecutive_ = true;
  result.targets_ = *tokens - 1;
  result.windows_ = (result.targets_ + context - 1) / context;
  return result;
}

int Evaluation::fill(uint64_t window, std::span<int32_t> tokens) const {
  if (window >= windows_ || tokens.size() != context_ + 1)
    fail("[data] window {} of {} tokens; the evaluation has {} of {}", window, tokens.size(), windows_,
         context_ + 1);
  uint64_t place = window;
  uint64_t counted = context_;
  if (consecutive_) {
    place = window * context_;
    counted = std::min(context_, targets_ - place);
  } else if (const auto available = corpus_->tokens(Split::validation)) {
    const uint64_t last = *available - context_ - 1;
    place = windows_ == 1
                ? 0
                : static_cast<uint64_t>(static_cast<unsigned __int128>(last) * window / (windows_ - 1));
  }
  corpus_->window(Split::validation, place, tokens.first(counted + 1));
  std::fill(tokens.begin() + static_cast<ptrdiff_t>(counted) + 1, tokens.end(), 0);
  return static_cast<int>(counted);
}

}  // namespace plimsoll
