#include "graph/differentiate.hpp"

#include "graph/ops.hpp"

namespace plimsoll {

struct Backward::State {
  Gradients& gradients;
  const std::function<bool(ValueId)>& recompute;
  std::unordered_map<ValueId, size_t> producer;  // node that made a forward value
  std::unordered_map<ValueId, ValueId> again;    // forward value -> its recomputed twin

  // The value, or its twin, emitting the forward nodes again where needed.
  ValueId available(List& list, ValueId id) {
    const Graph& graph = list.graph();
    if (!recompute || graph[id].base != no_value || !recompute(id)) return id;
    if (auto twin = again.find(id); twin != again.end()) return twin->second;
    const auto made = producer.find(id);
    if (made == producer.end()) return id;
    const Node node = list.nodes()[made->second];
    std::vector<ValueId> in;
    for (ValueId input : node.in) in.push_back(available(list, input));
    std::vector<ValueId> out;
    for (ValueId original : node.out) {
      const Value& value = graph[original];
      // An output that was kept (mean, rstd, lse) is simply written again with the same bits.
      if (recompute(original)) {
        const ValueId twin = list.graph().value(std::string(value.name) + "'", value.type, value.role);
        again[original] = twin;
        out.push_back(twin);
      } else {
        out.push_back(original);
      }
    }
    const List::BlockScope block(list, node.block);
    list.emit_into(node.op, in, out, node.name + "'");
    return again[id];
  }
};

ValueId Backward::in(int i) { return state_.available(list_, node_.in[static_cast<size_t>(i)]); }
ValueId Backward::out(int i) { return state_.available(list_, node_.out[static_cast<size_t>(i)]); }

ValueId Backward::gradient_of_output(int i) const {
  const auto found = state_.gradients.of.find(node_.out[static_cast<size_t>(i)]);
  return found == state_.gradients.of.end() ? no_value : found->second;
}

ValueId Backward::existing(int i) const {
  const auto found = state_.gradients.of.find(node_.in[static_cast<size_t>(i)]);
  return found == state_.gradients.of.end() ? no_value : found->second;
}

void Backward::set(int i, ValueId gradient) {
  state_.gradients.of[node_.in[static_cast<size_t>(i)]] = gradient;
}

Backward::Target Backward::gradient_of_input(int i) {
  const ValueId input = node_.in[static_cast<size_t>(i)];
  if (const ValueId there = existing(i); there != no_value) return {there, {.add = true}};
  const Value value = list_.graph()[input];
  const auto place = state_.gradients.place.find(input);
  const ValueId gradient = place != state_.gradients.place.end()
                               ? place->second
                               : list_.graph().value("d." + value.name, value.type, Role::gradient);
  set(i, gradient);
  return {gradient, {.first_replaces = value.role == Role::parameter}};
}

void Backward::pass(int i, ValueId gradient) {
  if (const ValueId there = existing(i); there != no_value) {
    list_.emit_into(ops::add(), {there, gradient}, {there}, node_.name + ".sum");
  } else {
    set(i, gradient);
  }
}

void differentiate(List& list, Gradients& gradients, const std::function<bool(ValueId)>& recompute) {
  Backward::State state{gradients, recompute, {}, {}};
  const size_t forward = list.nodes().size();
  for (size_t i = 0; i < forward; ++i)
    for (ValueId id : list.nodes()[i].out) state.producer.emplace(id, i);
  for (size_t i = forward; i-- > 0;) {
    const Node& node = list.nodes()[i];
    bool reached = false;
    for (ValueId id : node.out) reached |= gradients.of.contains(id);
    if (!reached) continue;
    Backward rule(state, list, node);
    const List::BlockScope block(list, rule.node_.block);
    rule.node_.op->backward(rule);
  }
}

void differentiate_node(List& list, const Node& node, Gradients& gradients) {
  const std::function<bool(ValueId)> keep_all;
  Backward::State state{gradients, keep_all, {}, {}};
  Backward rule(state, list, node);
  rule.node_.op->backward(rule);
}

}  // namespace plimsoll
