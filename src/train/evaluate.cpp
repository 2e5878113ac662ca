#include "train/evaluate.hpp"

#include <algorithm>

#include "base/units.hpp"

namespace plimsoll {

EvaluationPass::EvaluationPass(const Evaluation& windows, std::span<float> scratch, PictureFeed* pictures)
    : windows_(windows),
      scratch_(scratch),
      pictures_(pictures),
      samples_(scratch.empty() ? nullptr : windows.corpus().samples()),
      // If all samples have the same value, none is above the mean, however the mean is rounded.
      bar_(samples_ ? samples_->mean_distrust() * (1 + 1e-6) : 0) {}

// Row r of the pass's next windows.
void EvaluationPass::fill(Runtime& runtime, int64_t r) const {
  const Program& program = runtime.program();
  Executor& executor = runtime.executor();
  const auto length = static_cast<size_t>(runtime.graph()[program.evaluate_tokens].type.shape[1]);
  const auto row = [&](ValueId value, size_t width) {
    return std::span(executor.tokens(value) + static_cast<size_t>(r) * width, width);
  };
  const uint64_t window = next_ + static_cast<uint64_t>(r);
  if (windows_.corpus().packed())
    windows_.fill(window, {row(program.evaluate_tokens, length), row(program.evaluate_targets, length - 1),
                           row(program.evaluate_positions, length - 1)});
  else
    windows_.fill(window, row(program.evaluate_tokens, length));
}

bool EvaluationPass::advance(Runtime& runtime, Interrupt interrupt) {
  const Program& program = runtime.program();
  const Shape shape = runtime.graph()[program.evaluate_tokens].type.shape;
  const int64_t rows = shape[0], length = shape[1], T = length - 1;
  int32_t* tokens = runtime.executor().tokens(program.evaluate_tokens);
  const float* losses = runtime.executor().data(program.evaluate_losses);
  const bool packed = windows_.corpus().packed();
  while (next_ < windows_.windows()) {
    const auto count =
        static_cast<int64_t>(std::min<uint64_t>(static_cast<uint64_t>(rows), windows_.windows() - next_));
    if (pictures_ && !pictures_->evaluate(windows_, next_, uint64_t(count), interrupt)) return false;
    std::fill_n(tokens, rows * length, 0);
    for (int64_t r = 0; r < count; ++r) fill(runtime, r);
    if (interrupt() || !runtime.executor().run(program.evaluate, Moment{}, interrupt)) return false;
    for (int64_t r = 0; r < count; ++r, ++next_) {
      // Packed, what does not count has a loss of 0.
      const int64_t targets = packed ? T : windows_.counted(next_);
      for (int64_t t = 0; t < targets; ++t) sum_ += losses[r * T + t];
      if (!samples_) continue;
      windows_.distrust(next_, scratch_);
      for (int64_t t = 0; t < targets; ++t) {
        GroupLoss& group = scratch_[static_cast<size_t>(t)] > bar_ ? high_ : low_;
        group.loss += losses[r * T + t];
        ++group.targets;
      }
    }
  }
  return true;
}

ValidationLoss EvaluationPass::result() const {
  ValidationLoss result{sum_ / static_cast<double>(windows_.targets()), samples_ != nullptr, high_, low_};
  for (GroupLoss* group : {&result.high, &result.low}) group->loss /= static_cast<double>(group->targets);
  return result;
}

ValidationLoss evaluate(Runtime& runtime, const Evaluation& windows, std::span<float> scratch) {
  PictureFeed pictures(runtime, windows.corpus(), 0);
  EvaluationPass pass(windows, scratch, &pictures);
  pass.advance(runtime);
  return pass.result();
}

FinalWindows final_windows(const Corpus& corpus, int context, uint64_t most_tokens) {
  const uint64_t most_windows = std::max<uint64_t>(1, most_tokens / static_cast<uint64_t>(context));
  const auto tokens = corpus.tokens(Split::validation);
  const PackedCorpus* packed = corpus.packed();
  const bool some = tokens && *tokens > most_tokens;
  return {some ? Evaluation::subset(corpus, context, most_windows)
               : Evaluation::whole(corpus, context, most_windows),
          packed   ? std::optional(packed->targets(Split::validation))
          : tokens ? std::optional(*tokens - 1)
                   : std::nullopt};
}

std::string targets_text(uint64_t targets, std::optional<uint64_t> part) {
  return part && *part > targets ? fmt::format("{} of {} tokens", format_count(targets), format_count(*part))
                                 : fmt::format("{} tokens", format_count(targets));
}

}  // namespace plimsoll
