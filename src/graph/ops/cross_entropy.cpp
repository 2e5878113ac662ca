// The loss: replaces rows of logits by their gradient and sums the losses of the rows in order.
#include "graph/ops.hpp"

namespace plimsoll::ops {
namespace {

class CrossEntropy final : public Op {
 public:
  explicit CrossEntropy(CrossEntropyOptions options) : o_(options) {}
  const char* name() const override { return "cross_entropy"; }
  std::vector<Type> infer(std::span<const Type> in) const override { return {{{in[0].shape[0]}}, in[0]}; }
  int in_place(int output) const override { return output == 1 ? 0 : -1; }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return 30. * double(in[0].elements());
  }
  int64_t parts(std::span<const Type> in, std::span<const Type>) const override { return in[0].shape[0]; }
  void run(const Frame& f, int part, int parts) const override {
    const int64_t V = f.in_type(0).shape[1], line = f.in_type(1).shape[1], T = o_.targets ? line : line - 1;
    const Range rows = split(f.in_type(0).shape[0], part, parts);
    // A token is the target of the row before it.
    f.kernels->cross_entropy({rows.end - rows.begin, V, V, f.out(1) + rows.begin * V,
                              f.tokens(1) + (o_.targets ? 0 : 1), o_.first_row + rows.begin, T, line,
                              f.out(0) + rows.begin, o_.scale * f.now->loss_scale, o_.gradient,
                              o_.weighted ? f.in(2) : nullptr});
  }

 private:
  CrossEntropyOptions o_;
};

class LossSum final : public Op {
 public:
  LossSum(float scale, bool weighted) : scale_(scale), weighted_(weighted) {}
  const char* name() const override { return "loss_sum"; }
  std::vector<Type> infer(std::span<const Type>) const override {
    return std::vector<Type>(weighted_ ? 2 : 1, Type{{1}});
  }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return double(in[0].elements());
  }
  int64_t parts(std::span<const Type>, std::span<const Type>) const override { return 1; }
  void run(const Frame& f, int, int) const override {
    double sum = 0, weighted = 0;
    for (int64_t i = 0; i < f.in_type(0).elements(); ++i) sum += f.in(0)[i];
    if (weighted_)
      for (int64_t i = 0; i < f.in_type(0).elements(); ++i) weighted += double(f.in(1)[i]) * f.in(0)[i];
    add(f, 0, weighted_ ? weighted : sum);
    if (weighted_) add(f, 1, sum);
  }

 private:
  void add(const Frame& f, int output, double sum) const {
    const float loss = static_cast<float>(sum * scale_ * f.now->loss_scale);
    f.out(output)[0] = f.now->round == 0 ? loss : f.out(output)[0] + loss;
  }
  float scale_;
  bool weighted_;
};

}  // namespace

OpPointer cross_entropy(CrossEntropyOptions options) { return std::make_shared<CrossEntropy>(options); }
OpPointer loss_sum(float scale, bool weighted) { return std::make_shared<LossSum>(scale, weighted); }

}  // namespace plimsoll::ops
