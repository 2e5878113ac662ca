#include "graph/differentiate.hpp"

#include <algorithm>

#include "graph/ops.hpp"

namespace plimsoll {

struct Backward::State {
  Gradients& gradients;
  const std::function<bool(ValueId)>& recompute;
  std::unordered_map<ValueId, size_t> producer;    // node that made a forward value
  std::unordered_map<ValueId, ValueId> again;      // forward value -> its recomputed twin
  std::unordered_map<ValueId, size_t> made_again;  // forward value -> the node that makes its twin
  // Gradients written in pieces, through views: how many elements have been.
  std::unordered_map<ValueId, int64_t> pieces;

  // The gradient of `id` so far; no_value where there is none.
  ValueId gradient(const Graph& graph, ValueId id) const {
    const auto found = gradients.of.find(id);
    if (found == gradients.of.end()) return no_value;
    const auto written = pieces.find(found->second);
    if (written != pieces.end() && written->second != graph[id].type.elements())
      fail("[differentiate] of the gradient of {} only {} of {} elements are written", graph[id].name,
           written->second, graph[id].type.elements());
    return found->second;
  }

  // The value, or its twin, emitting the forward nodes again where needed.
  ValueId available(List& list, ValueId id) {
    const Graph& graph = list.graph();
    if (const auto made = producer.find(id); made != producer.end()) {
      const Node node = list.nodes()[made->second];
      if (node.op->fetches()) {
        const ValueId twin = list.graph().value(graph[id].name + "'", graph[id].type, graph[id].role);
        list.graph().freeze(twin);
        const List::BlockScope block(list, node.block);
        list.emit_into(node.op, {}, {twin}, node.name + "'");
        return twin;
      }
    }
    if (!recompute) return id;
    if (auto twin = again.find(id); twin != again.end()) return twin->second;
    if (const ValueId base = graph[id].base; base != no_value) {
      const ValueId whole = available(list, base);
      return whole == base ? id : again[id] = list.graph().view_like(id, whole, graph[id].name + "'");
    }
    if (!recompute(id)) return id;
    const auto made = producer.find(id);
    if (made == producer.end()) return id;
    const Node node = list.nodes()[made->second];
    std::vector<ValueId> in;
    for (ValueId input : node.in) in.push_back(available(list, input));
    std::vector<ValueId> out, recomputed;
    for (ValueId original : node.out) {
      const Value& value = graph[original];
      // An output that was kept (mean, rstd, lse) is simply written again with the same bits.
      if (recompute(original)) {
        const ValueId twin = list.graph().value(std::string(value.name) + "'", value.type, value.role);
        again[original] = twin;
        recomputed.push_back(original);
        out.push_back(twin);
      } else {
        out.push_back(original);
      }
    }
    const List::BlockScope block(list, node.block);
    for (ValueId original : recomputed) made_again[original] = list.nodes().size();
    list.emit_into(node.op, in, out, node.name + "'");
    return again[id];
  }
};

ValueId Backward::in(int i) { return state_.available(list_, node_.in[static_cast<size_t>(i)]); }
ValueId Backward::out(int i) { return state_.available(list_, node_.out[static_cast<size_t>(i)]); }

ValueId Backward::gradient_of_output(int i) const {
  return state_.gradient(list_.graph(), node_.out[static_cast<size_t>(i)]);
}

ValueId Backward::existing(int i) const {
  return state_.gradient(list_.graph(), node_.in[static_cast<size_t>(i)]);
}

void Backward::set(int i, ValueId gradient) {
  const ValueId input = node_.in[static_cast<size_t>(i)];
  if (list_.graph()[input].base != no_value)
    fail("[{}] {}: the gradient of {} must be written into that of its base", node_.op->name(), node_.name,
         list_.graph()[input].name);
  state_.gradients.of[input] = gradient;
}

ValueId Backward::made_too(std::shared_ptr<const Op> op, const std::string& suffix) {
  size_t makes = index_;
  if (state_.recompute && state_.recompute(node_.out[0])) {
    const auto twin = state_.made_again.find(node_.out[0]);
    if (twin == state_.made_again.end()) return no_value;
    makes = twin->second;
  }
  std::vector<Type> in;
  for (ValueId id : node_.in) in.push_back(list_.graph()[id].type);
  const Value& first = list_.graph()[node_.out[0]];
  const ValueId more = list_.graph().value(first.name + suffix, op->infer(in)[node_.out.size()], first.role);
  list_.make_too(makes, std::move(op), more);
  return more;
}

Backward::Target Backward::gradient_of_input(int i) {
  const ValueId input = node_.in[static_cast<size_t>(i)];
  if (const ValueId there = existing(i); there != no_value) return {there, {.add = true}};
  const Value value = list_.graph()[input];
  auto& of = state_.gradients.of;
  const auto place = state_.gradients.place.find(input);
  if (place != state_.gradients.place.end())
    return {of[input] = place->second, {.first_replaces = value.role == Role::parameter}};
  if (value.base != no_value) {
    const auto whole = of.find(value.base);
    const bool complete = whole != of.end() && !state_.pieces.contains(whole->second);
    const Value base = list_.graph()[value.base];
    const auto given = state_.gradients.place.find(value.base);
    const ValueId into = whole != of.end() ? whole->second
                         : given != state_.gradients.place.end()
                             ? given->second
                             : list_.graph().value("d." + base.name, base.type, Role::gradient);
    of[value.base] = into;
    if (!complete) state_.pieces[into] += value.type.elements();
    of[input] = list_.graph().view_like(input, into, "d." + value.name);
    return {of[input], {.add = complete, .first_replaces = base.role == Role::parameter}};
  }
  of[input] = list_.graph().value("d." + value.name, value.type, Role::gradient);
  return {of[input], {.first_replaces = value.role == Role::parameter}};
}

Backward::Target Backward::gradient_or_scratch(int i) {
  if (wants(i)) return gradient_of_input(i);
  const Value value = list_.graph()[node_.in[static_cast<size_t>(i)]];
  return {list_.graph().value("unused." + value.name, value.type, Role::scratch), {}};
}

void Backward::pass(int i, ValueId gradient) {
  if (!wants(i)) return;
  if (const ValueId there = existing(i); there != no_value) {
    list_.emit_into(ops::add(), {there, gradient}, {there}, node_.name + ".sum");
  } else {
    set(i, gradient);
  }
}

void Backward::walk(State& state, List& list, size_t first, size_t end) {
  const Graph& graph = list.graph();
  for (size_t i = end; i-- > first;) {
    const Node& node = list.nodes()[i];
    const bool reached = std::any_of(node.out.begin(), node.out.end(),
                                     [&](ValueId id) { return state.gradients.of.contains(id); });
    const bool trained =
        std::any_of(node.in.begin(), node.in.end(), [&](ValueId id) { return graph[id].needs_gradient; });
    if (!reached || !trained) continue;
    Backward rule(state, list, i);
    const List::BlockScope block(list, rule.node_.block);
    rule.node_.op->backward(rule);
  }
}

void differentiate(List& list, Gradients& gradients, const std::function<bool(ValueId)>& recompute) {
  Backward::State state{gradients, recompute, {}, {}, {}, {}};
  const size_t forward = list.nodes().size();
  for (size_t i = 0; i < forward; ++i)
    for (ValueId id : list.nodes()[i].out) state.producer.emplace(id, i);
  Backward::walk(state, list, 0, forward);
}

void differentiate_range(List& list, size_t first, size_t end, Gradients& gradients) {
  const std::function<bool(ValueId)> keep_all;
  Backward::State state{gradients, keep_all, {}, {}, {}, {}};
  Backward::walk(state, list, first, end);
  for (size_t i = first; i < end; ++i)
    for (ValueId id : list.nodes()[i].out) gradients.of.erase(id);
}

}  // namespace plimsoll
