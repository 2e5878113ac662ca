#include "graph/graph.hpp"

#include <algorithm>

namespace plimsoll {

const char* role_name(Role role) {
  switch (role) {
    case Role::parameter:
      return "parameters";
    case Role::gradient:
      return "gradients";
    case Role::optimiser:
      return "optimiser";
    case Role::activation:
      return "activations";
    case Role::input:
      return "inputs";
    case Role::scratch:
      return "scratch";
  }
  return "?";
}

ValueId Graph::value(std::string name, Type type, Role role, Keep keep) {
  values_.push_back({std::move(name), type, role, keep, no_value, 0});
  return static_cast<ValueId>(values_.size() - 1);
}

ValueId Graph::view(ValueId base, int64_t offset, Type type, std::string name) {
  const Value& whole = (*this)[base];
  if (offset < 0 || offset + type.elements() > whole.type.elements())
    fail("[view] {} needs elements {}..{} of {} {}", name, offset, offset + type.elements(), whole.name,
         whole.type.shape.text());
  values_.push_back({std::move(name), type, whole.role, Keep::touched, base, offset});
  return static_cast<ValueId>(values_.size() - 1);
}

List& Graph::list(std::string name) { return lists_.emplace_back(*this, std::move(name)); }

ValueId Graph::owner(ValueId id) const {
  while ((*this)[id].base != no_value) id = (*this)[id].base;
  return id;
}

int64_t Graph::owner_offset(ValueId id) const {
  int64_t offset = 0;
  for (; (*this)[id].base != no_value; id = (*this)[id].base) offset += (*this)[id].offset;
  return offset;
}

namespace {
std::vector<Type> types_of(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<Type> types;
  for (ValueId id : ids) types.push_back(graph[id].type);
  return types;
}
}  // namespace

std::vector<ValueId> List::emit(std::shared_ptr<const Op> op, std::vector<ValueId> in, std::string name,
                                Role role) {
  std::vector<ValueId> out;
  const auto outputs = op->infer(types_of(graph_, in));
  for (size_t i = 0; i < outputs.size(); ++i)
    out.push_back(graph_.value(i == 0 ? name : name + "." + std::to_string(i), outputs[i], role));
  nodes_.push_back({std::move(name), std::move(op), std::move(in), out, block_});
  return out;
}

void List::emit_into(std::shared_ptr<const Op> op, std::vector<ValueId> in, std::vector<ValueId> out,
                     std::string name) {
  const auto wanted = op->infer(types_of(graph_, in));
  if (wanted.size() != out.size())
    fail("[{}] {}: {} outputs given, {} made", op->name(), name, out.size(), wanted.size());
  for (size_t i = 0; i < out.size(); ++i)
    if (graph_[out[i]].type.elements() != wanted[i].elements())
      fail("[{}] {}: output {} is {}, {} expected", op->name(), name, i, graph_[out[i]].type.shape.text(),
           wanted[i].shape.text());
  nodes_.push_back({std::move(name), std::move(op), std::move(in), std::move(out), block_});
}

}  // namespace plimsoll
