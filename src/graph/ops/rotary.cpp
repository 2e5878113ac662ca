// Rotary positions: the angles of a list's rows are computed once, and every block turns its queries and keys by them.
#include <cmath>

#include "graph/differentiate.hpp"
#include "graph/ops.hpp"

namespace plimsoll::ops {
namespace {

// Angles are products in f32, as in the models' own programs: at distant positions their rounding is part of the result.
void angle_row(const std::vector<float>& frequencies, int64_t position, float* out) {
  const size_t half = frequencies.size();
  for (size_t i = 0; i < half; ++i) {
    const float angle = static_cast<float>(position) * frequencies[i];
    out[i] = static_cast<float>(std::cos(double(angle)));
    out[half + i] = static_cast<float>(std::sin(double(angle)));
  }
}

// [positions [B, T] i32] -> angles [rows, D]
class RotaryAngles final : public Op {
 public:
  RotaryAngles(int64_t rows, bool cached, std::vector<float> frequencies)
      : rows_(rows), cached_(cached), frequencies_(std::move(frequencies)) {}
  const char* name() const override { return "rotary_angles"; }
  std::vector<Type> infer(std::span<const Type> in) const override {
    if (!in.empty() && (in[0].dtype != DType::i32 || in[0].elements() != rows_))
      fail("[rotary_angles] positions {} for {} rows", in[0].text(), rows_);
    return {{{rows_, 2 * int64_t(frequencies_.size())}}};
  }
  double work(std::span<const Type>, std::span<const Type> out) const override {
    return 60. * double(out[0].elements());
  }
  int64_t parts(std::span<const Type>, std::span<const Type>) const override { return rows_; }
  void run(const Frame& f, int part, int parts) const override {
    const Range rows = split(rows_, part, parts);
    for (int64_t row = rows.begin; row < rows.end; ++row)
      angle_row(frequencies_,
                cached_         ? f.now->position
                : f.input_count ? f.tokens(0)[row]
                                : row,
                f.out(0) + row * f.out_type(0).shape[1]);
  }

 private:
  int64_t rows_;
  bool cached_;
  std::vector<float> frequencies_;
};

class Rotary final : public Op {
 public:
  explicit Rotary(bool back) : back_(back) {}
  const char* name() const override { return back_ ? "rotary_backward" : "rotary"; }
  Cost cost() const override { return Cost::function; }
  bool takes_columns() const override { return true; }
  std::vector<Type> infer(std::span<const Type> in) const override {
    if (in[0].shape.rank() != 2 || in[1].shape.rank() != 2 || in[0].shape[1] % in[1].shape[1] ||
        in[0].shape[0] % in[1].shape[0] || in[1].shape[1] % 2)
      fail("[rotary] x {} with angles {}; [N, H D] and [T, D] expected", in[0].shape.text(),
           in[1].shape.text());
    return {in[0]};
  }
  int in_place(int) const override { return 0; }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return 8. * double(in[0].elements());
  }
  int64_t parts(std::span<const Type> in, std::span<const Type>) const override { return in[0].shape[0]; }
  void run(const Frame& f, int part, int parts) const override {
    const Operand &x = f.inputs[0], &y = f.outputs[0];
    const int64_t lines = f.in_type(1).shape[0], width = f.in_type(1).shape[1];
    const Range rows = split(x.type.shape[0], part, parts, 16);
    f.kernels->rotary({rows.end - rows.begin, x.type.shape[1] / width, width,
                       x.as<const float>() + rows.begin * x.row, x.row, f.in(1), rows.begin, lines,
                       y.as<float>() + rows.begin * y.row, y.row, back_});
  }
  void backward(Backward& b) const override {
    const auto dx = b.gradient_of_input(0);
    if (dx.write.add) fail("[rotary] its input is used twice; the gradient cannot be added to");
    b.list().emit_into(std::make_shared<Rotary>(true), {b.gradient_of_output(0), b.in(1)}, {dx.id},
                       b.name() + ".d_x");
  }

 private:
  bool back_;
};

}  // namespace

OpPointer rotary_angles(int64_t rows, std::vector<float> frequencies) {
  return std::make_shared<RotaryAngles>(rows, false, std::move(frequencies));
}
OpPointer rotary_angles_at(std::vector<float> frequencies) {
  return std::make_shared<RotaryAngles>(1, true, std::move(frequencies));
}
OpPointer rotary() { return std::make_shared<Rotary>(false); }

}  // namespace plimsoll::ops
