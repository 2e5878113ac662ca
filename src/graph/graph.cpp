#include "graph/graph.hpp"

#include <algorithm>

namespace plimsoll {

const char* role_name(Role role) {
  switch (role) {
    case Role::parameter:
      return "parameters";
    case Role::gradient:
      return "gradients";
    case Role::optimizer:
      return "optimizer";
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
  const bool trained = role == Role::parameter && is_floating(type.dtype);
  values_.push_back({std::move(name), type, role, keep, no_value, 0, 0, trained});
  return static_cast<ValueId>(values_.size() - 1);
}

ValueId Graph::view(ValueId base, int64_t offset, Type type, std::string name) {
  const Value& whole = (*this)[base];
  if (offset < 0 || offset + type.elements() > whole.type.elements() || type.dtype != whole.type.dtype ||
      whole.row)
    fail("[view] {} needs {} elements {}..{} of {} {}", name, name_of(type.dtype), offset,
         offset + type.elements(), whole.name, whole.type.text());
  values_.push_back(
      {std::move(name), type, whole.role, Keep::touched, base, offset, 0, whole.needs_gradient});
  return static_cast<ValueId>(values_.size() - 1);
}

ValueId Graph::columns(ValueId base, int64_t first, int64_t count, std::string name) {
  const Value& whole = (*this)[base];
  const int64_t rows = whole.type.shape[0], wide = whole.type.shape[1];
  if (whole.type.shape.rank() != 2 || whole.row || first < 0 || count < 1 || first + count > wide)
    fail("[view] {} needs columns {}..{} of {} {}", name, first, first + count, whole.name,
         whole.type.text());
  values_.push_back({std::move(name),
                     {{rows, count}, whole.type.dtype},
                     whole.role,
                     Keep::touched,
                     base,
                     first,
                     count == wide ? 0 : wide,
                     whole.needs_gradient});
  return static_cast<ValueId>(values_.size() - 1);
}

ValueId Graph::view_like(ValueId view, ValueId base, std::string name) {
  const Value like = (*this)[view];
  if ((*this)[like.base].type != (*this)[base].type) fail("[view] {} and {} differ in type", name, like.name);
  values_.push_back({std::move(name), like.type, (*this)[base].role, Keep::touched, base, like.offset,
                     like.row, like.needs_gradient});
  return static_cast<ValueId>(values_.size() - 1);
}

void Graph::derive(std::span<const ValueId> in, std::span<const ValueId> out) {
  if (std::none_of(in.begin(), in.end(), [&](ValueId id) { return (*this)[id].needs_gradient; })) return;
  for (ValueId id : out) values_[static_cast<size_t>(id)].needs_gradient = true;
}

List& Graph::list(std::string name) { return lists_.emplace_back(*this, std::move(name)); }

ValueId Graph::owner(ValueId id) const {
  while ((*this)[id].base != no_value) id = (*this)[id].base;
  return id;
}

uint64_t Graph::owner_offset(ValueId id) const {
  uint64_t offset = 0;
  for (; (*this)[id].base != no_value; id = (*this)[id].base)
    offset += static_cast<uint64_t>((*this)[id].offset) * size_of((*this)[id].type.dtype);
  return offset;
}

namespace {
std::vector<Type> types_of(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<Type> types;
  for (ValueId id : ids) types.push_back(graph[id].type);
  return types;
}

// Views and dtypes the op does not know how to read.
void check_operands(const Graph& graph, const Op& op, const std::vector<ValueId>& in,
                    std::span<const ValueId> out, const std::string& name) {
  for (const std::span<const ValueId> ids : {std::span<const ValueId>(in), out})
    for (ValueId id : ids)
      if (graph[id].row && !op.takes_columns())
        fail("[{}] {}: {} is columns of wider rows, which this op does not take", op.name(), name,
             graph[id].name);
  for (size_t i = 0; i < in.size(); ++i) {
    const Type& type = graph[in[i]].type;
    if (is_floating(type.dtype) && type.dtype != DType::f32 && !op.takes_half(static_cast<int>(i)))
      fail("[{}] {}: {} is {}, which this op does not take; it must be f32", op.name(), name,
           graph[in[i]].name, type.text());
  }
}
}  // namespace

std::vector<ValueId> List::emit(std::shared_ptr<const Op> op, std::vector<ValueId> in, std::string name,
                                Role role) {
  std::vector<ValueId> out;
  check_operands(graph_, *op, in, {}, name);
  const auto outputs = op->infer(types_of(graph_, in));
  for (size_t i = 0; i < outputs.size(); ++i)
    out.push_back(graph_.value(i == 0 ? name : name + "." + std::to_string(i), outputs[i], role));
  graph_.derive(in, out);
  nodes_.push_back({std::move(name), std::move(op), std::move(in), out, block_, when_});
  return out;
}

void List::emit_into(std::shared_ptr<const Op> op, std::vector<ValueId> in, std::vector<ValueId> out,
                     std::string name) {
  check_operands(graph_, *op, in, out, name);
  const auto wanted = op->infer(types_of(graph_, in));
  if (wanted.size() != out.size())
    fail("[{}] {}: {} outputs given, {} made", op->name(), name, out.size(), wanted.size());
  for (size_t i = 0; i < out.size(); ++i)
    if (graph_[out[i]].type.elements() != wanted[i].elements() ||
        graph_[out[i]].type.dtype != wanted[i].dtype)
      fail("[{}] {}: output {} is {}, {} expected", op->name(), name, i, graph_[out[i]].type.text(),
           wanted[i].text());
  graph_.derive(in, out);
  nodes_.push_back({std::move(name), std::move(op), std::move(in), std::move(out), block_, when_});
}

}  // namespace plimsoll
