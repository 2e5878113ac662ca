// Dropout, alone or added to the residual stream. The mask of a row depends on its number within the step.
#include "graph/differentiate.hpp"
#include "graph/ops.hpp"
#include "graph/ops/dropout_key.hpp"

namespace plimsoll::ops {
namespace {

class Dropout final : public Op {
 public:
  Dropout(DropoutSite site, bool addend) : site_(site), addend_(addend) {}
  const char* name() const override { return "dropout"; }
  std::vector<Type> infer(std::span<const Type> in) const override { return {in[0]}; }
  int in_place(int) const override { return 0; }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return 12. * double(in[0].elements());
  }
  int64_t parts(std::span<const Type> in, std::span<const Type>) const override { return in[0].shape[0]; }
  void run(const Frame& f, int part, int parts) const override {
    const int64_t C = f.in_type(0).shape[1];
    const Range rows = split(f.in_type(0).shape[0], part, parts);
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      const uint32_t key =
          dropout_key(*f.now, site_.site, static_cast<uint64_t>(f.now->micro * site_.micro_rows + row));
      f.kernels->dropout({C, key, 0, dropout_threshold(site_.rate), 1 / (1 - site_.rate), f.in(0) + row * C,
                          addend_ ? f.in(1) + row * C : nullptr, f.out(0) + row * C});
    }
  }
  void backward(Backward& b) const override {
    const ValueId dy = b.gradient_of_output(0);
    if (b.wants(0)) {
      const auto dx = b.gradient_of_input(0);
      std::vector<ValueId> in = {dy};
      if (dx.write.add) in.push_back(dx.id);
      b.list().emit_into(std::make_shared<Dropout>(site_, dx.write.add), in, {dx.id}, b.name() + ".d_x");
    }
    if (addend_) b.pass(1, dy);
  }

 private:
  DropoutSite site_;
  bool addend_;
};

}  // namespace

OpPointer dropout(DropoutSite site, bool addend) { return std::make_shared<Dropout>(site, addend); }

}  // namespace plimsoll::ops
