// Rows that count, moved to the front, so that what follows need only look at those; and back to their places.
#include <cstring>

#include "graph/differentiate.hpp"
#include "graph/ops.hpp"

namespace plimsoll::ops {
namespace {

// x [N, C] or [N], order [1 + N] i32 -> y as x: row i goes to order[1 + i], rows that do not count become 0
class SpreadRows final : public Op {
 public:
  explicit SpreadRows(Write write) : write_(write) {}
  const char* name() const override { return "spread_rows"; }
  std::vector<Type> infer(std::span<const Type> in) const override {
    if (in[1].dtype != DType::i32 || in[1].elements() != in[0].shape[0] + 1)
      fail("[spread_rows] {} with the order {} do not fit", in[0].text(), in[1].text());
    return {in[0]};
  }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return double(in[0].elements());
  }
  int64_t parts(std::span<const Type>, std::span<const Type>) const override { return 1; }
  void run(const Frame& f, int, int) const override {
    const int64_t C = f.in_type(0).elements() / f.in_type(0).shape[0];
    const int32_t* order = f.tokens(1);
    if (!write_.adds(*f.now)) std::memset(f.out(0), 0, f.in_type(0).bytes());
    for (int64_t i = 0; i < order[0]; ++i) {
      float* row = f.out(0) + order[1 + i] * C;
      f.kernels->add({C, row, f.in(0) + i * C, row});
    }
  }

 private:
  Write write_;
};

class CountedRows final : public Op {
 public:
  const char* name() const override { return "counted_rows"; }
  std::vector<Type> infer(std::span<const Type> in) const override {
    const int64_t N = in[0].shape[0];
    if (in[1].dtype != DType::i32 || in[1].elements() != N)
      fail("[counted_rows] {} with targets {} do not fit", in[0].text(), in[1].text());
    return {in[0], {{1 + N}, DType::i32}, {{1, N}, DType::i32}};
  }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return double(in[0].elements());
  }
  int64_t parts(std::span<const Type>, std::span<const Type>) const override { return 1; }
  void run(const Frame& f, int, int) const override {
    const int64_t N = f.in_type(0).shape[0], C = f.in_type(0).shape[1];
    auto* order = f.outputs[1].as<int32_t>();
    auto* targets = f.outputs[2].as<int32_t>();
    int32_t count = 0;
    for (int64_t r = 0; r < N; ++r) {
      if (f.tokens(1)[r] < 0) continue;
      order[1 + count] = static_cast<int32_t>(r);
      targets[count] = f.tokens(1)[r];
      std::memcpy(f.out(0) + count * C, f.in(0) + r * C, static_cast<size_t>(C) * sizeof(float));
      ++count;
    }
    order[0] = count;
    std::fill(targets + count, targets + N, -1);
    std::memset(f.out(0) + count * C, 0, static_cast<size_t>((N - count) * C) * sizeof(float));
  }
  void backward(Backward& b) const override {
    const ValueId dy = b.gradient_of_output(0);
    if (dy == no_value || !b.wants(0)) return;
    const auto dx = b.gradient_of_input(0);
    b.list().emit_into(std::make_shared<SpreadRows>(dx.write), {dy, b.out(1)}, {dx.id}, b.name() + ".d_x");
  }
};

}  // namespace

OpPointer counted_rows() { return std::make_shared<CountedRows>(); }
OpPointer spread_rows() { return std::make_shared<SpreadRows>(Write{}); }

}  // namespace plimsoll::ops
