// The recorded step. A Graph owns named values and lists of nodes over them; a list is recorded once and replayed
// forever. Nothing here touches memory: Plan gives values their place, Executor runs the lists.
//
//   Graph g;
//   ValueId w = g.value("w", {{128, 512}}, Role::parameter);
//   List& train = g.list("train");
//   ValueId y = train.emit(ops::gelu(), {x})[0];       // shape inferred, value named after the node
#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/leaf_tree.hpp"
#include "graph/op.hpp"
#include "tensor/type.hpp"

namespace plimsoll {

enum class Role : uint8_t { parameter, gradient, optimizer, activation, input, scratch };
constexpr int role_count = 6;
const char* role_name(Role role);

using ValueId = int32_t;
constexpr ValueId no_value = -1;

// How long a value must keep its bytes, beyond the nodes that touch it.
enum class Keep : uint8_t {
  touched,     // from the first node that touches it to the last
  from_start,  // filled before the list runs
  to_end,      // read after the list has run
  list,        // both: survives replays of its list as long as no other list runs
  forever      // shared by all lists and never reused
};

struct Value {
  std::string name;
  Type type;
  Role role;
  Keep keep;
  ValueId base = no_value;  // a view shares the bytes of `base` from element `offset` on
  int64_t offset = 0;
  int64_t row = 0;              // elements from one row to the next where rows do not touch; 0: they do
  bool needs_gradient = false;  // a trained parameter, or made from one

  int64_t row_stride() const { return row ? row : type.shape[type.shape.rank() - 1]; }
};

constexpr int no_block = -1;

// A node with a `count` [n] i32 runs only where its first element is above `above`.
struct Condition {
  ValueId count = no_value;
  int64_t above = 0;
};

struct Node {
  std::string name;
  std::shared_ptr<const Op> op;
  std::vector<ValueId> in, out;
  int block = no_block;  // the block of the model it belongs to, backward and recomputed nodes included
  Condition when = {};
};

class Graph;

// A straight list of nodes. Nodes [0, loop_end) are replayed `repeats` times (micro-batches), the rest once. Repeat m adds
// to the copy of leaf m mod leaves().all of what the loop hands on; a list may have some of the leaves only. As many of
// them as there are lanes run side by side, a thread each, every lane on its own copy of what stays inside the loop. The
// first node after the loop must add up over the leaves what it hands on (ops::reduce_lanes).
class List {
 public:
  List(Graph& graph, std::string name) : graph_(graph), name_(std::move(name)) {}

  // Records a node; outputs become new values (role activation unless said) typed by the op.
  std::vector<ValueId> emit(std::shared_ptr<const Op> op, std::vector<ValueId> in, std::string name,
                            Role role = Role::activation);
  // Records a node that writes values that exist already (gradients, parameters, views).
  void emit_into(std::shared_ptr<const Op> op, std::vector<ValueId> in, std::vector<ValueId> out,
                 std::string name);

  // Another order of the same work.
  void replace(std::vector<Node> nodes, size_t end_of_loop) {
    nodes_ = std::move(nodes);
    loop_end = end_of_loop;
  }

  // A recorded node with another op, which makes `more` as well.
  void make_too(size_t node, std::shared_ptr<const Op> op, ValueId more) {
    nodes_[node].op = std::move(op);
    nodes_[node].out.push_back(more);
  }

  const std::string& name() const { return name_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }

  // The block of the nodes emitted while the scope lives.
  class BlockScope {
   public:
    BlockScope(List& list, int block) : list_(list), before_(list.block_) { list.block_ = block; }
    ~BlockScope() { list_.block_ = before_; }
    BlockScope(const BlockScope&) = delete;
    BlockScope& operator=(const BlockScope&) = delete;

   private:
    List& list_;
    int before_;
  };

  // The condition of the nodes emitted while the scope lives.
  class ConditionScope {
   public:
    ConditionScope(List& list, Condition when) : list_(list), before_(list.when_) { list.when_ = when; }
    ~ConditionScope() { list_.when_ = before_; }
    ConditionScope(const ConditionScope&) = delete;
    ConditionScope& operator=(const ConditionScope&) = delete;

   private:
    List& list_;
    Condition before_;
  };

  size_t loop_end = 0;
  int repeats = 1;
  int lanes = 1;  // at most `repeats`
  // The leaves of this list; without a word, one for each lane.
  LeafRange leaves() const { return leaves_.value_or(LeafRange{0, lanes, lanes}); }
  void set_leaves(const LeafRange& leaves) { leaves_ = leaves; }

 private:
  std::optional<LeafRange> leaves_;
  Graph& graph_;
  std::string name_;
  std::vector<Node> nodes_;
  int block_ = no_block;
  Condition when_;
};

class Graph {
 public:
  ValueId value(std::string name, Type type, Role role, Keep keep = Keep::touched);
  // A window of `type` into `base`, starting at element `offset`.
  ValueId view(ValueId base, int64_t offset, Type type, std::string name);
  // Columns [first, first + count) of every row of a matrix: rows of the view are as far apart as those of `base`.
  ValueId columns(ValueId base, int64_t first, int64_t count, std::string name);
  // The same window into another value of the same type.
  ValueId view_like(ValueId view, ValueId base, std::string name);
  // A parameter that is not trained; before any node uses it.
  void freeze(ValueId id) { values_[static_cast<size_t>(id)].needs_gradient = false; }
  // Changes how long a value keeps its bytes.
  void keep(ValueId id, Keep keep) { values_[static_cast<size_t>(id)].keep = keep; }
  List& list(std::string name);

  const Value& operator[](ValueId id) const { return values_[static_cast<size_t>(id)]; }
  const std::vector<Value>& values() const { return values_; }
  // Marks `out` as made from `in`.
  void derive(std::span<const ValueId> in, std::span<const ValueId> out);
  const std::deque<List>& lists() const { return lists_; }
  std::deque<List>& lists() { return lists_; }
  // The value that owns the bytes of `id`, following views.
  ValueId owner(ValueId id) const;
  uint64_t owner_offset(ValueId id) const;  // in bytes

 private:
  std::vector<Value> values_;
  std::deque<List> lists_;
};

}  // namespace plimsoll
