#include "train/evaluate.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/units.hpp"

namespace plimsoll {

EvaluationPass::EvaluationPass(const Evaluation& windows, std::span<float> scratch, const ranks::Team& team,
                               std::span<float> received, PictureFeed* pictures)
    : windows_(windows),
      scratch_(scratch),
      received_(received),
      team_(team),
      pictures_(pictures),
      samples_(scratch.empty() ? nullptr : windows.corpus().samples()),
      // If all samples have the same value, none is above the mean, however the mean is rounded.
      bar_(samples_ ? samples_->mean_distrust() * (1 + 1e-6) : 0) {}

// `count` windows from `first` on into the rows of the list's input. Of rows left over nothing counts: what they hold is of
// another list.
void EvaluationPass::fill(Runtime& runtime, uint64_t first, int64_t count) const {
  const Program& program = runtime.program();
  Executor& executor = runtime.executor();
  const Shape shape = runtime.graph()[program.evaluate_tokens].type.shape;
  const auto length = static_cast<size_t>(shape[1]);
  for (int64_t r = 0; r < shape[0]; ++r) {
    const auto row = [&](ValueId value, size_t width) {
      return std::span(executor.tokens(value) + static_cast<size_t>(r) * width, width);
    };
    const uint64_t window = first + static_cast<uint64_t>(r);
    const std::span<int32_t> tokens = row(program.evaluate_tokens, length);
    if (r >= count) std::fill(tokens.begin(), tokens.end(), 0);
    if (!windows_.corpus().packed()) {
      if (r < count) windows_.fill(window, tokens);
      continue;
    }
    const std::span<int32_t> targets = row(program.evaluate_targets, length - 1),
                             positions = row(program.evaluate_positions, length - 1);
    if (r < count) {
      windows_.fill(window, {tokens, targets, positions});
    } else {
      std::fill(targets.begin(), targets.end(), -1);
      std::fill(positions.begin(), positions.end(), 0);
    }
  }
}

// The losses of `count` windows from `first` on, T a window.
void EvaluationPass::add(uint64_t first, int64_t count, int64_t T, const float* losses) {
  const bool packed = windows_.corpus().packed();
  for (int64_t r = 0; r < count; ++r) {
    const uint64_t window = first + static_cast<uint64_t>(r);
    // Packed, what does not count has a loss of 0.
    const int64_t targets = packed ? T : windows_.counted(window);
    for (int64_t t = 0; t < targets; ++t) sums_.all += losses[r * T + t];
    if (!samples_) continue;
    windows_.distrust(window, scratch_);
    for (int64_t t = 0; t < targets; ++t) {
      GroupLoss& group = scratch_[static_cast<size_t>(t)] > bar_ ? sums_.high : sums_.low;
      group.loss += losses[r * T + t];
      ++group.targets;
    }
  }
}

bool EvaluationPass::advance(Runtime& runtime, Interrupt interrupt) {
  const Program& program = runtime.program();
  const Shape shape = runtime.graph()[program.evaluate_tokens].type.shape;
  const int64_t rows = shape[0], T = shape[1] - 1;
  const float* losses = runtime.executor().data(program.evaluate_losses);
  // Every rank takes `rows` windows in its turn.
  const auto first_of = [&](int rank) {
    return std::min(windows_.windows(), next_ + static_cast<uint64_t>(rank) * static_cast<uint64_t>(rows));
  };
  const auto count_of = [&](int rank) { return static_cast<int64_t>(first_of(rank + 1) - first_of(rank)); };
  const int own = team_.rank();
  while (next_ < windows_.windows()) {
    // Ranks leave together, where they meet below.
    if (pictures_ && count_of(own) > 0 &&
        !pictures_->evaluate(windows_, first_of(own), static_cast<uint64_t>(count_of(own)),
                             team_.alone() ? interrupt : Interrupt{}))
      return false;
    fill(runtime, first_of(own), count_of(own));
    const bool left =
        interrupt() || (count_of(own) > 0 && !runtime.executor().run(program.evaluate, Moment{}, interrupt));
    if (team_.any(left)) return false;
    if (own == 0) add(first_of(0), count_of(0), T, losses);
    const auto bytes = [&](int rank) { return static_cast<size_t>(count_of(rank) * T) * sizeof(float); };
    ranks::Communicator* between = team_.communicator();
    for (int rank = 1; own == 0 && rank < team_.size() && count_of(rank) > 0; ++rank) {
      between->wait(between->receive(rank, received_.data(), bytes(rank)));
      add(first_of(rank), count_of(rank), T, received_.data());
    }
    if (own > 0 && count_of(own) > 0) between->wait(between->send(0, losses, bytes(own)));
    next_ = first_of(team_.size());
  }
  team_.share(&sums_, sizeof sums_);
  return true;
}

ValidationLoss EvaluationPass::result() const {
  ValidationLoss result{sums_.all / static_cast<double>(windows_.targets()), samples_ != nullptr, sums_.high,
                        sums_.low};
  for (GroupLoss* group : {&result.high, &result.low}) group->loss /= static_cast<double>(group->targets);
  return result;
}

ValidationLoss evaluate(Runtime& runtime, const Evaluation& windows, std::span<float> scratch) {
  PictureFeed pictures(runtime, windows.corpus(), 0);
  EvaluationPass pass(windows, scratch, {}, {}, &pictures);
  if (!pass.advance(runtime)) fail("{}", runtime.damage());
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
