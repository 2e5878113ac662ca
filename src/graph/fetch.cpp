#include "graph/fetch.hpp"

namespace plimsoll {
namespace {

class Fetch final : public Op {
 public:
  Fetch(std::shared_ptr<Fetcher> source, int64_t piece, Type type)
      : source_(std::move(source)), piece_(piece), type_(type) {}
  const char* name() const override { return "fetch"; }
  Cost cost() const override { return Cost::exchange; }
  bool fetches() const override { return true; }
  std::vector<Type> infer(std::span<const Type>) const override { return {type_}; }
  double work(std::span<const Type>, std::span<const Type>) const override { return 0; }
  int64_t parts(std::span<const Type>, std::span<const Type>) const override { return 1; }
  void run(const Frame& f, int, int) const override { source_->begin(piece_, f.outputs[0].data); }
  const std::shared_ptr<Fetcher>& source() const { return source_; }

 private:
  std::shared_ptr<Fetcher> source_;
  int64_t piece_;
  Type type_;
};

// value -> nothing: from here on it is there
class Await final : public Op {
 public:
  explicit Await(std::shared_ptr<Fetcher> source) : source_(std::move(source)) {}
  const char* name() const override { return "await"; }
  Cost cost() const override { return Cost::exchange; }
  bool takes_half(int) const override { return true; }
  std::vector<Type> infer(std::span<const Type>) const override { return {}; }
  double work(std::span<const Type>, std::span<const Type>) const override { return 0; }
  int64_t parts(std::span<const Type>, std::span<const Type>) const override { return 1; }
  void run(const Frame& f, int, int) const override { source_->await(f.inputs[0].data); }

 private:
  std::shared_ptr<Fetcher> source_;
};

}  // namespace

ValueId emit_fetch(List& list, std::shared_ptr<Fetcher> source, int64_t piece, Type type,
                   const std::string& name) {
  Graph& graph = list.graph();
  const ValueId value = graph.value(name, type, Role::parameter);
  graph.freeze(value);
  list.emit_into(std::make_shared<Fetch>(std::move(source), piece, type), {}, {value}, name + ".fetch");
  return value;
}

void prefetch(List& list) {
  std::vector<size_t> fetches;
  const std::vector<Node>& nodes = list.nodes();
  for (size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].op->fetches()) fetches.push_back(i);
  if (fetches.empty()) return;
  std::vector<Node> ahead;
  ahead.reserve(nodes.size() + fetches.size());
  size_t next = 0, loop_end = 0;
  auto begin_next = [&] {
    if (next < fetches.size()) ahead.push_back(nodes[fetches[next++]]);
  };
  begin_next();
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (i == list.loop_end) loop_end = ahead.size();
    if (!nodes[i].op->fetches()) {
      ahead.push_back(nodes[i]);
      continue;
    }
    const auto& fetch = static_cast<const Fetch&>(*nodes[i].op);
    ahead.push_back(
        {nodes[i].name + ".end", std::make_shared<Await>(fetch.source()), nodes[i].out, {}, nodes[i].block});
    begin_next();
  }
  if (list.loop_end == nodes.size()) loop_end = ahead.size();
  list.replace(std::move(ahead), loop_end);
}

uint64_t fetched_bytes(const List& list) {
  uint64_t sum = 0;
  for (const Node& node : list.nodes())
    if (node.op->fetches()) sum += list.graph()[node.out[0]].type.bytes();
  return sum;
}

}  // namespace plimsoll
