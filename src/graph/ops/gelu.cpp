#include "graph/differentiate.hpp"
#include "graph/ops.hpp"

namespace plimsoll::ops {
namespace {

constexpr int64_t grain = 1024;

// x, dy -> dx (takes the place of dy)
class GeluBackward final : public Op {
 public:
  const char* name() const override { return "gelu_backward"; }
  Cost cost() const override { return Cost::function; }
  std::vector<Type> infer(std::span<const Type> in) const override { return {in[0]}; }
  int in_place(int) const override { return 1; }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return 40. * double(in[0].elements());
  }
  int64_t parts(std::span<const Type> in, std::span<const Type>) const override {
    return (in[0].elements() + grain - 1) / grain;
  }
  void run(const Frame& f, int part, int parts) const override {
    const Range r = split(f.in_type(0).elements(), part, parts, grain);
    f.kernels->gelu_backward({r.end - r.begin, f.in(0) + r.begin, f.in(1) + r.begin, f.out(0) + r.begin});
  }
};

// slope, dy -> dx (takes the place of dy)
class Multiply final : public Op {
 public:
  const char* name() const override { return "multiply"; }
  std::vector<Type> infer(std::span<const Type> in) const override { return {in[0]}; }
  int in_place(int) const override { return 1; }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return 6. * double(in[0].elements());
  }
  int64_t parts(std::span<const Type> in, std::span<const Type>) const override {
    return (in[0].elements() + grain - 1) / grain;
  }
  void run(const Frame& f, int part, int parts) const override {
    const Range r = split(f.in_type(0).elements(), part, parts, grain);
    f.kernels->multiply({r.end - r.begin, f.in(0) + r.begin, f.in(1) + r.begin, f.out(0) + r.begin});
  }
};

// x -> y, and with `slope` the derivative, in the place of x where nobody else needs that
class Gelu final : public Op {
 public:
  explicit Gelu(bool slope) : slope_(slope) {}
  const char* name() const override { return "gelu"; }
  Cost cost() const override { return Cost::function; }
  std::vector<Type> infer(std::span<const Type> in) const override {
    return slope_ ? std::vector<Type>{in[0], in[0]} : std::vector<Type>{in[0]};
  }
  int in_place(int output) const override { return (output == 1) == slope_ ? 0 : -1; }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return (slope_ ? 36. : 30.) * double(in[0].elements());
  }
  int64_t parts(std::span<const Type> in, std::span<const Type>) const override {
    return (in[0].elements() + grain - 1) / grain;
  }
  void run(const Frame& f, int part, int parts) const override {
    const Range r = split(f.in_type(0).elements(), part, parts, grain);
    f.kernels->gelu(
        {r.end - r.begin, f.in(0) + r.begin, f.out(0) + r.begin, slope_ ? f.out(1) + r.begin : nullptr});
  }
  void backward(Backward& b) const override {
    const auto dx = b.gradient_of_input(0);
    if (dx.write.add) fail("[gelu] its input is used twice; the gradient cannot be added to");
    // The forward pass has e^x at hand, of which the derivative is made; its input is then not needed any more.
    const ValueId slope = b.made_too(std::make_shared<Gelu>(true), ".slope");
    if (slope != no_value)
      b.list().emit_into(std::make_shared<Multiply>(), {slope, b.gradient_of_output(0)}, {dx.id},
                         b.name() + ".d_x");
    else
      b.list().emit_into(std::make_shared<GeluBackward>(), {b.in(0), b.gradient_of_output(0)}, {dx.id},
                         b.name() + ".d_x");
  }

 private:
  bool slope_;
};

}  // namespace

OpPointer gelu() { return std::make_shared<Gelu>(false); }

}  // namespace plimsoll::ops
