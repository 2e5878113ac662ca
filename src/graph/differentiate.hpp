// Reverse-mode differentiation of a list: walks the nodes backwards and lets each op emit the nodes of its rule.
// Forward values named in `recompute` are not kept for the backward pass: the nodes that make them are emitted again
// where they are needed first. What leads to no trained parameter gets no gradient.
#pragma once
#include <functional>
#include <unordered_map>
#include <vector>

#include "graph/graph.hpp"

namespace plimsoll {

struct Gradients {
  std::unordered_map<ValueId, ValueId> of;  // value -> its gradient
  std::unordered_map<ValueId, ValueId>
      place;  // value -> where its gradient is to be written, if that is given
};

// `seeds` are gradients known already (of the loss with respect to the last values). Emits into `list`; gradients of
// parameters are written with Write::first_replaces so that micro-batches add up.
void differentiate(List& list, Gradients& gradients, const std::function<bool(ValueId)>& recompute = {});

// The rules of nodes [first, end) alone, for gradients made right after the forward nodes (head and loss, a chunk at a
// time). Their outputs' gradients are forgotten, so that the walk over the whole list does not come back to them.
void differentiate_range(List& list, size_t first, size_t end, Gradients& gradients);

// What a backward rule may ask for and emit.
class Backward {
 public:
  // The value itself, recomputed first if it was not kept.
  ValueId in(int i);
  ValueId out(int i);
  bool has_in(int i) const { return i < static_cast<int>(node_.in.size()); }
  // Gradient of output i; no_value if nothing depends on it.
  ValueId gradient_of_output(int i) const;
  // Whether anything trained lies behind input i. A rule emits nothing for inputs that do not want a gradient.
  bool wants(int i) const {
    return has_in(i) && list_.graph()[node_.in[static_cast<size_t>(i)]].needs_gradient;
  }

  struct Target {
    ValueId id;
    Write write;
  };
  // Where to write the gradient of input i, and whether to add there. That of a view is a view into its base's.
  Target gradient_of_input(int i);
  // The same, or a place to drop it where the input wants none, for kernels that make several gradients at once.
  Target gradient_or_scratch(int i);
  // The gradient of input i is the given value itself (a residual connection). No node unless something is there already.
  void pass(int i, ValueId gradient);
  // Gradient of input i if it exists already, for ops that can add to it in place.
  ValueId existing(int i) const;
  void set(int i, ValueId gradient);
  // One more output of the forward node, which becomes `op`: something the rule can use that is cheap to make along with the
  // others; of the node that makes them again, where they are not kept. no_value where that has not been emitted.
  ValueId made_too(std::shared_ptr<const Op> op, const std::string& suffix);

  List& list() { return list_; }
  const std::string& name() const { return node_.name; }
  const Node& node() const { return node_; }

 private:
  friend void differentiate(List&, Gradients&, const std::function<bool(ValueId)>&);
  friend void differentiate_range(List&, size_t, size_t, Gradients&);
  struct State;
  static void walk(State& state, List& list, size_t first, size_t end);
  Backward(State& state, List& list, size_t index)
      : state_(state), list_(list), index_(index), node_(list.nodes()[index]) {}
  State& state_;
  List& list_;
  const size_t index_;
  const Node node_;  // a copy: emitting moves the list's storage
};

}  // namespace plimsoll
