#include "loss/head.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "graph/ops.hpp"

namespace plimsoll {

void emit_head(List& list, const HeadLogits& logits_of, ValueId hidden, const HeadLoss& loss,
               Gradients* gradients) {
  Graph& graph = list.graph();
  const Type type = graph[hidden].type;
  const int64_t rows = type.shape[0], width = type.shape[1];
  const bool weighted = loss.weights != no_value;
  const bool reaches = gradients && graph[hidden].needs_gradient;
  const ValueId dhidden = reaches ? graph.value("d.ln_f", type, Role::gradient) : no_value;
  // Where targets need not count, those that do come first, and chunks without any are left out. The first one always runs:
  // it sets the gradients that others add to.
  const bool some = loss.are_targets && !weighted;
  ValueId order = no_value, tokens = loss.tokens, losses = loss.losses;
  if (some) {
    const auto counted = list.emit(ops::counted_rows(), {hidden, tokens}, list.name() + ".counted");
    hidden = counted[0], order = counted[1], tokens = counted[2];
    losses = graph.value(list.name() + ".counted.losses", {{rows}}, Role::activation);
  }
  for (int64_t first = 0; first < rows; first += loss.chunk) {
    const int64_t count = std::min(loss.chunk, rows - first);
    const std::string name = fmt::format("{}.{}", list.name(), first / loss.chunk);
    const ValueId x = graph.view(hidden, first * width, {{count, width}}, "hidden." + name);
    const List::ConditionScope scope(list, {some && first > 0 ? order : no_value, first});
    const ValueId part = graph.view(losses, first, {{count}}, "losses." + name);
    const size_t before = list.nodes().size();
    const ValueId logits = logits_of(x, "logits." + name);
    const size_t after = list.nodes().size();
    std::vector<ValueId> in = {logits, tokens};
    if (weighted) in.push_back(loss.weights);
    list.emit_into(ops::cross_entropy({first, loss.scale, gradients != nullptr, weighted, loss.are_targets}),
                   in, {part, logits}, "loss." + name);
    if (!gradients) continue;
    gradients->of[logits] = logits;
    if (reaches)
      gradients->place[x] = graph.view(dhidden, first * width, {{count, width}}, "d.hidden." + name);
    differentiate_range(list, before, after, *gradients);
  }
  if (some) list.emit_into(ops::spread_rows(), {losses, order}, {loss.losses}, list.name() + ".losses");
  if (reaches) gradients->of[hidden] = dhidden;
}

namespace {
// In equal chunks of at most so many elements.
int64_t equal_chunks(int64_t rows, int64_t vocab, int64_t most) {
  const int64_t chunks = (rows * vocab + most - 1) / most;
  return (rows + chunks - 1) / chunks;
}
}  // namespace

int64_t fast_loss_rows(int64_t rows, int64_t vocab) { return equal_chunks(rows, vocab, 1 << 24); }

int64_t few_loss_rows(int64_t rows, int64_t vocab) {
  const int64_t few = equal_chunks(rows, vocab, 3 << 21);
  return few >= 96 ? few : fast_loss_rows(rows, vocab);
}

}  // namespace plimsoll
