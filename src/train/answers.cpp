#include "train/answers.hpp"

#include <algorithm>

#include "train/picture_feed.hpp"

namespace plimsoll {

AnswerCount count_answers(Runtime& runtime, const Evaluation& windows) {
  const Program& program = runtime.program();
  Executor& executor = runtime.executor();
  const Shape shape = runtime.graph()[program.window_logits].type.shape;  // [T, V]
  const auto T = size_t(shape[0]), V = size_t(shape[1]);
  PictureFeed pictures(runtime, windows.corpus(), 0);
  std::vector<int32_t> targets(T), positions(T);
  AnswerCount count;
  for (uint64_t w = 0; w < windows.windows(); ++w) {
    pictures.show_window(windows.number(w));
    const std::span<int32_t> tokens(executor.tokens(program.window_tokens), T + 1);
    windows.fill(w, {tokens, targets, positions});
    std::copy(positions.begin(), positions.end(), executor.tokens(program.window_positions));
    executor.run(program.window, Moment{});
    const float* logits = executor.data(program.window_logits);
    for (size_t begin = 0, end; begin < T; begin = end) {
      bool asked = false, exact = true;
      for (end = begin; end < T && (end == begin || positions[end] > 0); ++end) {
        if (targets[end] < 0) continue;
        const float* row = logits + end * V;
        asked = true;
        exact = exact && std::max_element(row, row + V) == row + targets[end];
      }
      count.rows += asked;
      count.exact += asked && exact;
    }
  }
  return count;
}

}  // namespace plimsoll
