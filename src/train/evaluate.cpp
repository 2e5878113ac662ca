#include "train/evaluate.hpp"

#include <algorithm>

namespace plimsoll {

ValidationLoss evaluate(Runtime& runtime, const Evaluation& windows, std::span<float> scratch) {
  const Program& program = runtime.program;
  const Shape shape = runtime.graph()[program.evaluate_tokens].type.shape;
  const int64_t rows = shape[0], length = shape[1], T = length - 1;
  int32_t* tokens = runtime.executor.tokens(program.evaluate_tokens);
  const float* losses = runtime.executor.data(program.evaluate_losses);
  ValidationLoss result;
  const SampleCorpus* samples = scratch.empty() ? nullptr : windows.corpus().samples();
  result.grouped = samples != nullptr;
  // Where all samples are worth the same, none is above the mean, whatever its rounding.
  const double bar = samples ? samples->mean_distrust() * (1 + 1e-6) : 0;
  double sum = 0;
  for (uint64_t first = 0; first < windows.windows(); first += static_cast<uint64_t>(rows)) {
    const auto count =
        static_cast<int64_t>(std::min<uint64_t>(static_cast<uint64_t>(rows), windows.windows() - first));
    std::fill_n(tokens, rows * length, 0);
    for (int64_t r = 0; r < count; ++r)
      windows.fill(first + static_cast<uint64_t>(r), {tokens + r * length, static_cast<size_t>(length)});
    runtime.executor.run(program.evaluate, Moment{});
    for (int64_t r = 0; r < count; ++r) {
      const uint64_t window = first + static_cast<uint64_t>(r);
      const int64_t targets = windows.counted(window);
      for (int64_t t = 0; t < targets; ++t) sum += losses[r * T + t];
      if (!samples) continue;
      windows.distrust(window, scratch);
      for (int64_t t = 0; t < targets; ++t) {
        GroupLoss& group = scratch[static_cast<size_t>(t)] > bar ? result.high : result.low;
        group.loss += losses[r * T + t];
        ++group.targets;
      }
    }
  }
  for (GroupLoss* group : {&result.high, &result.low}) group->loss /= static_cast<double>(group->targets);
  result.loss = sum / static_cast<double>(windows.targets());
  return result;
}

Evaluation final_windows(const Corpus& corpus, int context, uint64_t most_tokens) {
  const uint64_t most_windows = std::max<uint64_t>(1, most_tokens / static_cast<uint64_t>(context));
  const auto tokens = corpus.tokens(Split::validation);
  if (tokens && *tokens > most_tokens) return Evaluation::subset(corpus, context, most_windows);
  return Evaluation::whole(corpus, context, most_windows);
}

}  // namespace plimsoll
