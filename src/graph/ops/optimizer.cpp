// The end of the step as nodes: sums of squares, the clipping factor, AdamW.
#include <cmath>

#include "graph/ops.hpp"
#include "graph/ops/update.hpp"

namespace plimsoll::ops {
namespace {

constexpr int64_t adam_grain = 4096;
static_assert(adam_grain % kernels::moment_block == 0);

// gradient [n] -> partial sums, one per block, as pairs of floats holding a double's head and tail
class SumSquares final : public Op {
 public:
  const char* name() const override { return "sum_squares"; }
  std::vector<Type> infer(std::span<const Type> in) const override { return {{{blocks(in[0]), 2}}}; }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return 4. * double(in[0].elements());
  }
  int64_t parts(std::span<const Type> in, std::span<const Type>) const override { return blocks(in[0]); }
  void run(const Frame& f, int part, int parts) const override {
    const int64_t n = f.in_type(0).elements();
    const Range range = split(blocks(f.in_type(0)), part, parts);
    for (int64_t block = range.begin; block < range.end; ++block) {
      const int64_t first = block * square_block;
      const double sum = f.kernels->sum_squares({std::min(square_block, n - first), f.in(0) + first});
      f.out(0)[2 * block] = static_cast<float>(sum);
      f.out(0)[2 * block + 1] = static_cast<float>(sum - f.out(0)[2 * block]);
    }
  }

 private:
  static int64_t blocks(const Type& type) { return (type.elements() + square_block - 1) / square_block; }
};

// partials... -> [factor, norm]
class Clip final : public Op {
 public:
  explicit Clip(float limit) : limit_(limit) {}
  const char* name() const override { return "clip"; }
  std::vector<Type> infer(std::span<const Type>) const override { return {{{2}}}; }
  double work(std::span<const Type> in, std::span<const Type>) const override { return double(in.size()); }
  int64_t parts(std::span<const Type>, std::span<const Type>) const override { return 1; }
  void run(const Frame& f, int, int) const override {
    double sum = 0;
    for (int64_t i = 0; i < f.in_type(0).elements(); ++i) sum += f.in(0)[i];
    const double norm = std::sqrt(sum);
    f.out(0)[0] = norm > limit_ ? static_cast<float>(limit_ / (norm + 1e-6)) : 1.f;
    f.out(0)[1] = static_cast<float>(norm);
  }

 private:
  float limit_;
};

class AdamW final : public Update {
 public:
  AdamW(AdamWOptions options, bool clipped, int64_t first)
      : options_(options), clipped_(clipped), first_(first) {}
  const char* name() const override { return options_.eight_bit ? "adamw_8bit" : "adamw"; }
  std::vector<Type> infer(std::span<const Type> in) const override {
    if (!options_.eight_bit) return {in[0], in[0], in[0]};
    const Type codes{in[0].shape, DType::u8},
        scales{{(in[0].elements() + kernels::moment_block - 1) / kernels::moment_block}};
    return {in[0], codes, codes, scales, scales};
  }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return (options_.eight_bit ? 80. : 40.) * double(in[0].elements());
  }
  int64_t parts(std::span<const Type> in, std::span<const Type>) const override {
    return (in[0].elements() + adam_grain - 1) / adam_grain;
  }
  void run(const Frame& f, int part, int parts) const override {
    const Range r = split(f.in_type(0).elements(), part, parts, adam_grain);
    apply(f, {f.in(0) + r.begin, 0, 1, r.end - r.begin, r.begin, 0}, clipped_ ? f.in(1)[0] : 1.f);
  }
  bool by_elements() const override { return !options_.eight_bit; }
  void apply(const Frame& f, const Piece& piece, float gradient_scale) const override {
    const double t = static_cast<double>(f.now->step) + 1, lr = options_.rate * f.now->learning_rate;
    kernels::AdamW step{
        .count = piece.columns,
        .parameter = f.out(0) + piece.first,
        .gradient = piece.gradient,
        .m = nullptr,
        .v = nullptr,
        .gradient_scale = gradient_scale,
        .beta1 = options_.beta1,
        .beta2 = options_.beta2,
        .epsilon = options_.epsilon,
        .rate = static_cast<float>(lr / (1 - std::pow(double(options_.beta1), t))),
        .correction2 = static_cast<float>(1 / std::sqrt(1 - std::pow(double(options_.beta2), t))),
        .keep = static_cast<float>(1 - lr * options_.weight_decay)};
    if (options_.eight_bit) {
      const int64_t first = piece.first, block = first / kernels::moment_block;
      f.kernels->adamw8(
          {step, f.outputs[1].as<uint8_t>() + first, f.outputs[2].as<uint8_t>() + first, f.out(3) + block,
           f.out(4) + block,
           kernels::dropout_hash(static_cast<uint32_t>(f.now->seed), static_cast<uint32_t>(f.now->step)),
           static_cast<uint32_t>(first_ + first)});
      return;
    }
    step.m = f.out(1) + piece.first, step.v = f.out(2) + piece.first;
    for (int64_t row = 0; row < piece.rows; ++row) {
      // The processor sees no stream in rows this short.
      if (row + 1 < piece.rows)
        for (float* p : {step.parameter, step.m, step.v})
          for (int64_t i = 0; i < piece.columns; i += 16) __builtin_prefetch(p + piece.row + i, 1);
      f.kernels->adamw(step);
      step.parameter += piece.row, step.m += piece.row, step.v += piece.row;
      step.gradient += piece.gradient_row;
    }
  }

 private:
  AdamWOptions options_;
  bool clipped_;
  int64_t first_;
};

}  // namespace

OpPointer sum_squares() { return std::make_shared<SumSquares>(); }
OpPointer clip(float limit) { return std::make_shared<Clip>(limit); }
OpPointer adamw(AdamWOptions options, bool clipped, int64_t first) {
  return std::make_shared<AdamW>(options, clipped, first);
}

}  // namespace plimsoll::ops
