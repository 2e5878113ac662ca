// LayerNorm. The backward pass can add to an existing gradient (that of the residual branch) in the same pass,
// and stores sums over fixed groups of rows, which a second node reduces to the gradients of gain and bias.
#include "graph/differentiate.hpp"
#include "graph/ops.hpp"

namespace plimsoll::ops {
namespace {

constexpr int64_t group_rows = 64;  // fixed, so that sums do not depend on the number of threads
int64_t groups(int64_t rows) { return (rows + group_rows - 1) / group_rows; }

// dy, x, gain, mean, rstd, addend? -> dx (takes the place of addend or dy), and where gain or bias are trained
// partial [groups, 2C]
class LayerNormBackward final : public Op {
 public:
  LayerNormBackward(bool addend, bool partial) : addend_(addend), partial_(partial) {}
  const char* name() const override { return "layernorm_backward"; }
  Cost cost() const override { return Cost::function; }
  std::vector<Type> infer(std::span<const Type> in) const override {
    if (!partial_) return {in[1]};
    return {in[1], {{groups(in[1].shape[0]), 2 * in[1].shape[1]}}};
  }
  int in_place(int output) const override { return output == 0 ? (addend_ ? 5 : 0) : -1; }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return 24. * double(in[0].elements());
  }
  int64_t parts(std::span<const Type> in, std::span<const Type>) const override {
    return groups(in[0].shape[0]);
  }
  void run(const Frame& f, int part, int parts) const override {
    const int64_t rows = f.in_type(1).shape[0], C = f.in_type(1).shape[1];
    const Range range = split(groups(rows), part, parts);
    for (int64_t g = range.begin; g < range.end; ++g) {
      const int64_t first = g * group_rows, count = std::min(group_rows, rows - first);
      f.kernels->layernorm_backward({count, C, f.in(0) + first * C, f.in(1) + first * C, f.in(2),
                                     f.in(3) + first, f.in(4) + first,
                                     addend_ ? f.in(5) + first * C : nullptr, f.out(0) + first * C,
                                     partial_ ? f.out(1) + g * 2 * C : nullptr});
    }
  }

 private:
  bool addend_, partial_;
};

// partial [groups, 2C] -> dgain [C], dbias [C]
class LayerNormFold final : public Op {
 public:
  LayerNormFold(Write gain, Write bias) : gain_(gain), bias_(bias) {}
  const char* name() const override { return "layernorm_fold"; }
  std::vector<Type> infer(std::span<const Type> in) const override {
    const Type half{{in[0].shape[1] / 2}};
    return {half, half};
  }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return double(in[0].elements());
  }
  int64_t parts(std::span<const Type>, std::span<const Type>) const override { return 1; }
  void run(const Frame& f, int, int) const override {
    const int64_t rows = f.in_type(0).shape[0], C = f.in_type(0).shape[1] / 2;
    f.kernels->column_sum({rows, C, 2 * C, f.in(0), f.out(0), gain_.adds(*f.now)});
    f.kernels->column_sum({rows, C, 2 * C, f.in(0) + C, f.out(1), bias_.adds(*f.now)});
  }

 private:
  Write gain_, bias_;
};

class LayerNorm final : public Op {
 public:
  explicit LayerNorm(float epsilon) : epsilon_(epsilon) {}
  const char* name() const override { return "layernorm"; }
  Cost cost() const override { return Cost::function; }
  std::vector<Type> infer(std::span<const Type> in) const override {
    if (in[0].shape.rank() != 2 || in[1].elements() != in[0].shape[1] || in[2].elements() != in[0].shape[1])
      fail("[layernorm] x {} with gain {} and bias {}; [N, C], [C], [C] expected", in[0].shape.text(),
           in[1].shape.text(), in[2].shape.text());
    const Type row{{in[0].shape[0]}};
    return {in[0], row, row};
  }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return 10. * double(in[0].elements());
  }
  int64_t parts(std::span<const Type> in, std::span<const Type>) const override { return in[0].shape[0]; }
  void run(const Frame& f, int part, int parts) const override {
    const int64_t C = f.in_type(0).shape[1];
    const Range rows = split(f.in_type(0).shape[0], part, parts, 16);
    f.kernels->layernorm({rows.end - rows.begin, C, f.in(0) + rows.begin * C, f.in(1), f.in(2),
                          f.out(0) + rows.begin * C, f.out(1) + rows.begin, f.out(2) + rows.begin, epsilon_});
  }
  void backward(Backward& b) const override {
    const ValueId dy = b.gradient_of_output(0), there = b.wants(0) ? b.existing(0) : no_value;
    const bool folds = b.wants(1) || b.wants(2);
    Graph& graph = b.list().graph();
    const Value x = graph[b.node().in[0]];
    std::vector<ValueId> in = {dy, b.in(0), b.in(1), b.out(1), b.out(2)};
    if (there != no_value) in.push_back(there);
    const ValueId dx = graph.value("d." + x.name, x.type, b.wants(0) ? Role::gradient : Role::scratch);
    std::vector<ValueId> out = {dx};
    if (folds)
      out.push_back(graph.value(b.name() + ".partial", {{groups(x.type.shape[0]), 2 * x.type.shape[1]}},
                                Role::scratch));
    b.list().emit_into(std::make_shared<LayerNormBackward>(there != no_value, folds), in, out,
                       b.name() + ".d_x");
    if (b.wants(0)) b.set(0, dx);
    if (!folds) return;
    const auto gain = b.gradient_or_scratch(1), bias = b.gradient_or_scratch(2);
    b.list().emit_into(std::make_shared<LayerNormFold>(gain.write, bias.write), {out[1]}, {gain.id, bias.id},
                       b.name() + ".d_gain");
  }

 private:
  float epsilon_;
};

}  // namespace

OpPointer layernorm(float epsilon) { return std::make_shared<LayerNorm>(epsilon); }

}  // namespace plimsoll::ops
