// Sums gradients where two branches meet. The model's own additions are fused into linear and dropout.
#include "graph/ops.hpp"

namespace plimsoll::ops {
namespace {

constexpr int64_t grain = 1024;

// a + b; takes the place of a
class Add final : public Op {
 public:
  const char* name() const override { return "add"; }
  std::vector<Type> infer(std::span<const Type> in) const override {
    if (in[0].elements() != in[1].elements())
      fail("[add] {} and {} differ", in[0].shape.text(), in[1].shape.text());
    return {in[0]};
  }
  int in_place(int) const override { return 0; }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return 4. * double(in[0].elements());
  }
  int64_t parts(std::span<const Type> in, std::span<const Type>) const override {
    return (in[0].elements() + grain - 1) / grain;
  }
  void run(const Frame& f, int part, int parts) const override {
    const Range r = split(f.in_type(0).elements(), part, parts, grain);
    f.kernels->add({r.end - r.begin, f.in(0) + r.begin, f.in(1) + r.begin, f.out(0) + r.begin});
  }
};

}  // namespace

OpPointer add() { return std::make_shared<Add>(); }

}  // namespace plimsoll::ops
