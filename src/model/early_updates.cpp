#include "model/early_updates.hpp"

#include <algorithm>

namespace plimsoll {
namespace {

// What the nodes before the updates do with a parameter and its gradient.
struct Uses {
  size_t last = 0;              // of both
  std::vector<size_t> writers;  // of the gradient
  bool read = false;            // the gradient
};

Uses uses_of(const List& list, size_t end, ValueId parameter, ValueId gradient) {
  const Graph& graph = list.graph();
  auto has = [&](const std::vector<ValueId>& ids, ValueId id) {
    return std::any_of(ids.begin(), ids.end(), [&](ValueId other) { return graph.owner(other) == id; });
  };
  Uses uses;
  for (size_t n = 0; n < end; ++n) {
    const Node& node = list.nodes()[n];
    const bool writes = has(node.out, gradient), reads = has(node.in, gradient);
    if (writes) uses.writers.push_back(n);
    uses.read |= reads;
    if (writes || reads || has(node.in, parameter)) uses.last = n;
  }
  return uses;
}

// The update together with the product that makes its gradient; without an op where that is not possible.
Node joined(const List& list, const Node& update, const Uses& uses) {
  Node node = update;
  node.op = nullptr;
  if (uses.writers.empty() || uses.writers.size() > 2 || uses.read) return node;
  const Node& product = list.nodes()[uses.writers.front()];
  const bool rows = uses.writers.size() == 2;
  if (product.when.count != no_value || product.out.size() != 1 ||
      list.graph()[product.out[0]].base != no_value)
    return node;
  node.in = product.in;
  node.block = product.block;
  if (rows) {
    const Node& adding = list.nodes()[uses.writers.back()];
    if (!adding.op->adds_rows()) return node;
    node.in.insert(node.in.end(), adding.in.begin(), adding.in.begin() + 2);
  }
  node.op = product.op->then(update.op, rows);
  return node;
}

}  // namespace

void update_early(List& list, size_t first, uint64_t joined_from) {
  const Graph& graph = list.graph();
  std::vector<std::vector<Node>> after(first);
  std::vector<bool> left_out(first);
  for (size_t n = first; n < list.nodes().size(); ++n) {
    const Node& update = list.nodes()[n];
    const Uses uses = uses_of(list, first, graph.owner(update.out[0]), graph.owner(update.in[0]));
    Node both = joined(list, update, uses);
    if (graph[update.in[0]].type.bytes() < joined_from) both.op = nullptr;
    if (both.op)
      for (size_t writer : uses.writers) left_out[writer] = true;
    after[uses.last].push_back(both.op ? std::move(both) : update);
  }
  std::vector<Node> nodes;
  size_t loop_end = 0;
  for (size_t n = 0; n < first; ++n) {
    if (!left_out[n]) nodes.push_back(list.nodes()[n]);
    if (!after[n].empty() && loop_end == 0) loop_end = nodes.size();
    std::move(after[n].begin(), after[n].end(), std::back_inserter(nodes));
  }
  list.replace(std::move(nodes), loop_end);
}

}  // namespace plimsoll
