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

class Gelu final : public Op {
 public:
  const char* name() const override { return "gelu"; }
  Cost cost() const override { return Cost::function; }
  std::vector<Type> infer(std::span<const Type> in) const override { return {in[0]}; }
  int in_place(int) const override { return 0; }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return 30. * double(in[0].elements());
  }
  int64_t parts(std::span<const Type> in, std::span<const Type>) const override {
    return (in[0].elements() + grain - 1) / grain;
  }
  void run(const Frame& f, int part, int parts) const override {
    const Range r = split(f.in_type(0).elements(), part, parts, grain);
    f.kernels->gelu({r.end - r.begin, f.in(0) + r.begin, f.out(0) + r.begin});
  }
  void backward(Backward& b) const override {
    const auto dx = b.gradient_of_input(0);
    if (dx.write.add) fail("[gelu] its input is used twice; the gradient cannot be added to");
    b.list().emit_into(std::make_shared<GeluBackward>(), {b.in(0), b.gradient_of_output(0)}, {dx.id},
                       b.name() + ".d_x");
  }
};

}  // namespace

OpPointer gelu() { return std::make_shared<Gelu>(); }

}  // namespace plimsoll::ops
