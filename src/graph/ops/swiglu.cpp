#include "graph/differentiate.hpp"
#include "graph/ops.hpp"

namespace plimsoll::ops {
namespace {

constexpr int64_t swiglu_grain = 1024;
int64_t swiglu_parts(const Type& type) { return (type.elements() + swiglu_grain - 1) / swiglu_grain; }

// gate, up, dy -> dgate, dup (which take the places of gate and up)
class SwiGluBackward final : public Op {
 public:
  const char* name() const override { return "swiglu_backward"; }
  Cost cost() const override { return Cost::function; }
  std::vector<Type> infer(std::span<const Type> in) const override { return {in[0], in[1]}; }
  int in_place(int output) const override { return output; }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return 40. * double(in[0].elements());
  }
  int64_t parts(std::span<const Type> in, std::span<const Type>) const override {
    return swiglu_parts(in[0]);
  }
  void run(const Frame& f, int part, int parts) const override {
    const Range r = split(f.in_type(0).elements(), part, parts, swiglu_grain);
    f.kernels->swiglu_backward({r.end - r.begin, f.in(0) + r.begin, f.in(1) + r.begin, f.in(2) + r.begin,
                                f.out(0) + r.begin, f.out(1) + r.begin});
  }
};

class SwiGlu final : public Op {
 public:
  const char* name() const override { return "swiglu"; }
  Cost cost() const override { return Cost::function; }
  std::vector<Type> infer(std::span<const Type> in) const override {
    if (in[0] != in[1]) fail("[swiglu] gate {} and up {} differ", in[0].text(), in[1].text());
    return {in[0]};
  }
  int in_place(int) const override { return 0; }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return 30. * double(in[0].elements());
  }
  int64_t parts(std::span<const Type> in, std::span<const Type>) const override {
    return swiglu_parts(in[0]);
  }
  void run(const Frame& f, int part, int parts) const override {
    const Range r = split(f.in_type(0).elements(), part, parts, swiglu_grain);
    f.kernels->swiglu({r.end - r.begin, f.in(0) + r.begin, f.in(1) + r.begin, f.out(0) + r.begin});
  }
  void backward(Backward& b) const override {
    const auto dgate = b.gradient_or_scratch(0), dup = b.gradient_or_scratch(1);
    if (dgate.write.add || dup.write.add)
      fail("[swiglu] its input is used twice; the gradient cannot be added to");
    b.list().emit_into(std::make_shared<SwiGluBackward>(), {b.in(0), b.in(1), b.gradient_of_output(0)},
                       {dgate.id, dup.id}, b.name() + ".d_x");
  }
};

}  // namespace

OpPointer swiglu() { return std::make_shared<SwiGlu>(); }

}  // namespace plimsoll::ops
