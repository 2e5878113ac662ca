// The interface of an operation: how it types its outputs, how it runs, which nodes its backward rule emits, and which
// input's bytes an output may reuse. Each op has one file under graph/ops, with forward and backward side by side.
#pragma once
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "graph/leaf_tree.hpp"
#include "kernels/table.hpp"
#include "tensor/type.hpp"

namespace plimsoll {

class Backward;

// What changes from one replay to the next; everything else was fixed when the list was recorded.
struct Moment {
  uint64_t step = 0;  // optimizer steps done before this one
  int micro = 0;      // micro-batch within the step
  int round = 0;      // micro-batches this leaf has had before in this step
  bool last = false;  // no micro-batch of this step comes after those that run now
  float learning_rate = 0;
  int position = 0;      // generation: where in the context this token stands
  uint64_t seed = 0;     // dropout
  float loss_scale = 1;  // targets of the step over those that count
};

// A value as its node sees it when it runs.
struct Operand {
  std::byte* data;
  Type type;
  int64_t row;           // elements from one row to the next: more than its columns in a view of columns
  uint64_t lane_stride;  // bytes from one copy to the next; 0: there is one

  // The elements, which must be of this type.
  template <typename T>
  T* as() const {
    assert(DTypeOf<std::remove_const_t<T>>::value == type.dtype);
    return reinterpret_cast<T*>(data);
  }
  // The copy of another leaf, seen from that of the first; of what the loop hands on.
  Operand lane(int number) const {
    return {data + lane_stride * static_cast<uint64_t>(number), type, row, lane_stride};
  }
};

// What a kernel sees of its node: operands, its thread's scratch, the moment.
struct Frame {
  const Operand* inputs;
  const Operand* outputs;
  size_t input_count;
  float* scratch;
  const Moment* now;
  const kernels::Table* kernels;
  kernels::GemmFunction gemm;  // for f32 operands; kernels->gemm takes every dtype
  LeafRange leaves;            // of the list

  const float* in(int i) const { return inputs[i].as<const float>(); }
  float* out(int i) const { return outputs[i].as<float>(); }
  const int32_t* tokens(int i) const { return inputs[i].as<const int32_t>(); }
  const Type& in_type(int i) const { return inputs[i].type; }
  const Type& out_type(int i) const { return outputs[i].type; }
};

// Whether a write replaces or adds. A parameter's gradient is replaced by a leaf's first micro-batch and added to by the
// rest.
struct Write {
  bool add = false;
  bool first_replaces = false;
  bool adds(const Moment& now) const { return add || (first_replaces && now.round > 0); }
};

// What kind of work a node is: how its time is predicted, and whether the backward pass should make its result again
// rather than keep it.
enum class Cost : uint8_t {
  product,    // matrix products; output 0 is the result, a row for each row of A
  attention,  // products with a softmax between them
  function,  // norms and activations: output 0 follows from one pass over the inputs and is cheap to make again
  memory,    // sums, masks, gathers and updates: bound by reading and writing
  exchange  // waits for others (lanes, machines); its time is not a matter of arithmetic
};

class Op {
 public:
  virtual ~Op() = default;
  virtual const char* name() const = 0;
  // Types of the outputs; throws Error naming the op where the inputs do not fit.
  virtual std::vector<Type> infer(std::span<const Type> in) const = 0;
  virtual Cost cost() const { return Cost::memory; }
  // Emits the nodes that turn gradients of the outputs into gradients of the inputs.
  virtual void backward(Backward&) const { fail("[{}] has no backward rule", name()); }
  // Whether operands may be columns of wider rows, `Operand::row` elements apart. Others are refused such views.
  virtual bool takes_columns() const { return false; }
  // Whether an input may be stored as bf16 or f16.
  virtual bool takes_half(int /*input*/) const { return false; }
  // Whether the output is read anew for every use in the backward pass, and never kept for it.
  virtual bool fetches() const { return false; }
  // Input whose bytes output i may take over if that input dies here, or -1.
  virtual int in_place(int /*output*/) const { return -1; }
  // An op that does the same and gives each finished piece of output 0 to `update` at once, without keeping it; null where
  // there is none. Its inputs are this op's, its outputs those of `update`. With `rows`, it takes tokens and rows as further
  // inputs, as an op does that adds_rows().
  virtual std::shared_ptr<const Op> then(const std::shared_ptr<const Op>& /*update*/, bool /*rows*/) const {
    return nullptr;
  }
  // Whether it adds the rows of input 1 to those rows of output 0 that the tokens of input 0 say.
  virtual bool adds_rows() const { return false; }
  // Whether, when it runs for the last time in a step, this step must not be left any more.
  virtual bool commits() const { return false; }
  // Floats of scratch each thread needs.
  virtual size_t scratch(std::span<const Type> /*in*/, std::span<const Type> /*out*/) const { return 0; }
  // Floating-point operations, as a measure of how many parts are worth making.
  virtual double work(std::span<const Type> in, std::span<const Type> out) const = 0;
  // Most parts the node can be split into.
  virtual int64_t parts(std::span<const Type> in, std::span<const Type> out) const = 0;
  // Where that depends on how many threads there are, because more parts are more work.
  virtual int64_t parts_among(int /*threads*/, std::span<const Type> in, std::span<const Type> out) const {
    return parts(in, out);
  }
  // Runs part `part` of `parts`; parts are independent and may run at the same time.
  virtual void run(const Frame&, int part, int parts) const = 0;
};

// Part `part` of `parts` of [0, n), in multiples of `grain` where possible.
struct Range {
  int64_t begin, end;
};
inline Range split(int64_t n, int part, int parts, int64_t grain = 1) {
  const int64_t grains = (n + grain - 1) / grain;
  const int64_t begin = grains * part / parts * grain, end = grains * (part + 1) / parts * grain;
  return {begin < n ? begin : n, end < n ? end : n};
}

}  // namespace plimsoll
