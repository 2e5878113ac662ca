// RMSNorm of rows, or of every head of a row where the gain is as wide as a head. As in LayerNorm the backward pass can add
// to the gradient of the residual branch, and sums over fixed groups of rows are folded by a second node.
#include "graph/differentiate.hpp"
#include "graph/ops.hpp"

namespace plimsoll::ops {
namespace {

constexpr int64_t rms_group = 64;  // rows; fixed, so that sums do not depend on the number of threads
int64_t rms_groups(int64_t rows) { return (rows + rms_group - 1) / rms_group; }

// dy, x, gain, rstd, addend? -> dx (takes the place of addend or dy), and where gain is trained partial [groups, D]
class RmsNormBackward final : public Op {
 public:
  RmsNormBackward(bool addend, bool partial) : addend_(addend), partial_(partial) {}
  const char* name() const override { return "rmsnorm_backward"; }
  Cost cost() const override { return Cost::function; }
  std::vector<Type> infer(std::span<const Type> in) const override {
    if (!partial_) return {in[1]};
    return {in[1], {{rms_groups(in[3].elements()), in[2].elements()}}};
  }
  int in_place(int output) const override { return output == 0 ? (addend_ ? 4 : 0) : -1; }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return 20. * double(in[0].elements());
  }
  int64_t parts(std::span<const Type> in, std::span<const Type>) const override {
    return rms_groups(in[3].elements());
  }
  void run(const Frame& f, int part, int parts) const override {
    const int64_t rows = f.in_type(3).elements(), D = f.in_type(2).elements();
    const Range range = split(rms_groups(rows), part, parts);
    for (int64_t g = range.begin; g < range.end; ++g) {
      const int64_t first = g * rms_group, count = std::min(rms_group, rows - first);
      f.kernels->rmsnorm_backward({count, D, f.in(0) + first * D, f.in(1) + first * D, f.in(2),
                                   f.in(3) + first, addend_ ? f.in(4) + first * D : nullptr,
                                   f.out(0) + first * D, partial_ ? f.out(1) + g * D : nullptr});
    }
  }

 private:
  bool addend_, partial_;
};

// partial [groups, D] -> dgain [D]
class RmsNormFold final : public Op {
 public:
  explicit RmsNormFold(Write write) : write_(write) {}
  const char* name() const override { return "rmsnorm_fold"; }
  std::vector<Type> infer(std::span<const Type> in) const override { return {{{in[0].shape[1]}}}; }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return double(in[0].elements());
  }
  int64_t parts(std::span<const Type>, std::span<const Type>) const override { return 1; }
  void run(const Frame& f, int, int) const override {
    const int64_t rows = f.in_type(0).shape[0], D = f.in_type(0).shape[1];
    f.kernels->column_sum({rows, D, D, f.in(0), f.out(0), write_.adds(*f.now)});
  }

 private:
  Write write_;
};

class RmsNorm final : public Op {
 public:
  explicit RmsNorm(float epsilon) : epsilon_(epsilon) {}
  const char* name() const override { return "rmsnorm"; }
  Cost cost() const override { return Cost::function; }
  std::vector<Type> infer(std::span<const Type> in) const override {
    if (in[0].shape.rank() != 2 || in[0].shape[1] % in[1].elements())
      fail("[rmsnorm] x {} with gain {}; [N, C] and [D] expected, D a divisor of C", in[0].shape.text(),
           in[1].shape.text());
    return {in[0], {{in[0].elements() / in[1].elements()}}};
  }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return 8. * double(in[0].elements());
  }
  int64_t parts(std::span<const Type>, std::span<const Type> out) const override { return out[1].elements(); }
  void run(const Frame& f, int part, int parts) const override {
    const int64_t D = f.in_type(1).elements();
    const Range rows = split(f.out_type(1).elements(), part, parts, 16);
    f.kernels->rmsnorm({rows.end - rows.begin, D, f.in(0) + rows.begin * D, f.in(1),
                        f.out(0) + rows.begin * D, f.out(1) + rows.begin, epsilon_});
  }
  void backward(Backward& b) const override {
    const ValueId dy = b.gradient_of_output(0), there = b.wants(0) ? b.existing(0) : no_value;
    const bool folds = b.wants(1);
    Graph& graph = b.list().graph();
    const Value x = graph[b.node().in[0]];
    const int64_t D = graph[b.node().in[1]].type.elements();
    std::vector<ValueId> in = {dy, b.in(0), b.in(1), b.out(1)};
    if (there != no_value) in.push_back(there);
    const ValueId dx = graph.value("d." + x.name, x.type, b.wants(0) ? Role::gradient : Role::scratch);
    std::vector<ValueId> out = {dx};
    if (folds)
      out.push_back(
          graph.value(b.name() + ".partial", {{rms_groups(x.type.elements() / D), D}}, Role::scratch));
    b.list().emit_into(std::make_shared<RmsNormBackward>(there != no_value, folds), in, out,
                       b.name() + ".d_x");
    if (b.wants(0)) b.set(0, dx);
    if (!folds) return;
    const auto gain = b.gradient_of_input(1);
    b.list().emit_into(std::make_shared<RmsNormFold>(gain.write), {out[1]}, {gain.id}, b.name() + ".d_gain");
  }

 private:
  float epsilon_;
};

}  // namespace

OpPointer rmsnorm(float epsilon) { return std::make_shared<RmsNorm>(epsilon); }

}  // namespace plimsoll::ops
