#include "graph/differentiate.hpp"
#include "graph/ops.hpp"

namespace plimsoll::ops {
namespace {

constexpr int64_t scale_grain = 1024;

// x -> factor * x; its backward rule is the op itself.
class Scale final : public Op {
 public:
  explicit Scale(float factor) : factor_(factor) {}
  const char* name() const override { return "scale"; }
  std::vector<Type> infer(std::span<const Type> in) const override { return {in[0]}; }
  int in_place(int) const override { return 0; }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return 2. * double(in[0].elements());
  }
  int64_t parts(std::span<const Type> in, std::span<const Type>) const override {
    return (in[0].elements() + scale_grain - 1) / scale_grain;
  }
  void run(const Frame& f, int part, int parts) const override {
    const Range r = split(f.in_type(0).elements(), part, parts, scale_grain);
    f.kernels->scale({r.end - r.begin, factor_, f.in(0) + r.begin, f.out(0) + r.begin});
  }
  void backward(Backward& b) const override {
    const auto dx = b.gradient_of_input(0);
    if (dx.write.add) fail("[scale] its input is used twice; the gradient cannot be added to");
    b.list().emit_into(std::make_shared<Scale>(factor_), {b.gradient_of_output(0)}, {dx.id},
                       b.name() + ".d_x");
  }

 private:
  float factor_;
};

}  // namespace

OpPointer scale(float factor) { return std::make_shared<Scale>(factor); }

}  // namespace plimsoll::ops
