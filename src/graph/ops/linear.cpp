// y = x w [+ bias] [+ addend]: the matrix products of the model, forward, and backward for input, weight and bias.
#include "graph/differentiate.hpp"
#include "graph/ops.hpp"
#include "graph/ops/update.hpp"

namespace plimsoll::ops {
namespace {

// A part of an m x n product. Rows are split into as many groups as threads are likely to work (two parts each), so that
// a thread keeps to the rows it had in the node before; within a group columns are split, each part packing its own. A
// weight too large for a core's cache is split by columns alone: it comes from memory, and only once.
struct Tile {
  Range rows, columns;
};
Tile tile_of(int64_t m, int64_t n, int64_t k, int part, int parts, bool rows_first) {
  constexpr int64_t large = 1 << 18;  // elements
  int columns = static_cast<int>(std::clamp<int64_t>(n / 64, 1, parts));
  if (rows_first && n * k <= large && parts % 2 == 0 && m >= 28 * (parts / 2)) columns = n >= 128 ? 2 : 1;
  while (parts % columns) --columns;
  return {split(m, part / columns, parts / columns, 14), split(n, part % columns, columns, 32)};
}
int64_t tiles(int64_t m, int64_t n) { return std::max<int64_t>(1, n / 64) * std::max<int64_t>(1, m / 28); }

// Common to the three products: m x n results, k deep.
class Product : public Op {
 public:
  struct Dims {
    int64_t m, n, k;
  };
  Cost cost() const override { return Cost::product; }
  virtual Dims dims(const Type* in, const Type* out) const = 0;
  double work(std::span<const Type> in, std::span<const Type> out) const override {
    const Dims d = dims(in.data(), out.data());
    return 2. * double(d.m) * double(d.n) * double(d.k);
  }
  int64_t parts(std::span<const Type> in, std::span<const Type> out) const override {
    const Dims d = dims(in.data(), out.data());
    return tiles(d.m, d.n);
  }
  size_t scratch(std::span<const Type>, std::span<const Type>) const override {
    return kernels::gemm_scratch_floats;
  }

 protected:
  // Runs the given part of g, whose pointers are those of the whole product.
  static void run_part(const Frame& f, kernels::Gemm g, int part, int parts, bool rows_first = true) {
    const Tile tile = tile_of(g.m, g.n, g.k, part, parts, rows_first);
    g.m = tile.rows.end - tile.rows.begin;
    g.n = tile.columns.end - tile.columns.begin;
    if (g.m == 0 || g.n == 0) return;
    g.a += tile.rows.begin * g.a_row;
    g.b = static_cast<const std::byte*>(g.b) + tile.columns.begin * g.b_col * int64_t(size_of(g.b_type));
    g.c += tile.rows.begin * g.c_row + tile.columns.begin;
    if (g.bias) g.bias += tile.columns.begin;
    if (g.addend) g.addend += tile.rows.begin * g.addend_row + tile.columns.begin;
    (g.b_type == DType::f32 ? f.gemm : f.kernels->gemm)(g, f.scratch);
  }
};

// dy [N, O], w -> dx [N, I]
class LinearInput final : public Product {
 public:
  LinearInput(bool transposed, Write write) : transposed_(transposed), write_(write) {}
  const char* name() const override { return "linear_input"; }
  bool takes_half(int input) const override { return input == 1; }
  std::vector<Type> infer(std::span<const Type> in) const override {
    return {{{in[0].shape[0], in[1].shape[transposed_ ? 1 : 0]}}};
  }
  Dims dims(const Type* in, const Type* out) const override {
    return {out[0].shape[0], out[0].shape[1], in[0].shape[1]};
  }
  void run(const Frame& f, int part, int parts) const override {
    const int64_t N = f.in_type(0).shape[0], O = f.in_type(0).shape[1], I = f.out_type(0).shape[1];
    run_part(f,
             {.m = N,
              .n = I,
              .k = O,
              .a = f.in(0),
              .a_row = O,
              .b = f.inputs[1].data,
              .b_type = f.in_type(1).dtype,
              .b_row = transposed_ ? I : 1,
              .b_col = transposed_ ? 1 : O,
              .c = f.out(0),
              .c_row = I,
              .accumulate = write_.adds(*f.now)},
             part, parts);
  }

 private:
  bool transposed_;
  Write write_;
};

// The product of LinearWeight: x [N, I], dy [N, O] -> dw [I, O] (or [O, I]).
kernels::Gemm weight_product(const Frame& f, bool transposed) {
  const int a = transposed ? 1 : 0, b = 1 - a;
  const int64_t m = f.in_type(a).shape[1], n = f.in_type(b).shape[1];
  return {.m = m,
          .n = n,
          .k = f.in_type(0).shape[0],
          .a = f.in(a),
          .a_row = 1,
          .a_col = m,
          .b = f.in(b),
          .b_row = n,
          .c_row = n};
}

// x [N, I], dy [N, O], tokens [B, T+1]?, rows [N, I]? -> what `update` updates. The gradient exists in pieces only, one for
// each thread; `rows` is added to the rows that the tokens say.
class UpdatedWeight final : public Product {
 public:
  UpdatedWeight(bool transposed, std::shared_ptr<const Update> update)
      : transposed_(transposed), update_(std::move(update)) {}
  const char* name() const override { return "linear_weight_update"; }
  std::vector<Type> infer(std::span<const Type> in) const override {
    const int64_t I = in[0].shape[1], O = in[1].shape[1];
    return update_->infer(std::array{transposed_ ? Type{{O, I}} : Type{{I, O}}});
  }
  Dims dims(const Type* in, const Type* out) const override {
    return {out[0].shape[0], out[0].shape[1], in[0].shape[0]};
  }
  int64_t parts(std::span<const Type>, std::span<const Type> out) const override {
    return (out[0].shape[0] + 27) / 28;
  }
  size_t scratch(std::span<const Type> in, std::span<const Type> out) const override {
    return Product::scratch(in, out) + piece_rows * piece_columns;
  }
  void run(const Frame& f, int part, int parts) const override {
    const kernels::Gemm whole = weight_product(f, transposed_);
    const Range rows = split(whole.m, part, parts, 14);
    for (int64_t i = rows.begin; i < rows.end; i += piece_rows)
      for (int64_t j = 0; j < whole.n; j += piece_columns) {
        kernels::Gemm g = whole;
        g.m = std::min(piece_rows, rows.end - i);
        g.n = std::min(piece_columns, whole.n - j);
        g.a += i;
        g.b = f.in(transposed_ ? 0 : 1) + j;
        g.c = f.scratch + kernels::gemm_scratch_floats;
        g.c_row = g.n;
        f.gemm(g, f.scratch);
        if (f.input_count > 2) add_rows(f, g, i, j);
        update_->apply(f, {g.c, g.n, g.m, g.n, i * whole.n + j, whole.n}, 1);
      }
  }

 private:
  static void add_rows(const Frame& f, const kernels::Gemm& g, int64_t first, int64_t column) {
    const int64_t B = f.in_type(2).shape[0], T = f.in_type(2).shape[1] - 1, C = f.in_type(3).shape[1];
    for (int64_t n = 0; n < B * T; ++n) {
      const int64_t row = f.tokens(2)[n / T * (T + 1) + n % T] - first;
      if (row >= 0 && row < g.m)
        f.kernels->add({g.n, g.c + row * g.n, f.in(3) + n * C + column, g.c + row * g.n});
    }
  }

  // As many rows as make packing dy worth it, in few bytes: half a core's cache is packed operands.
  static constexpr int64_t piece_rows = 192, piece_columns = 256;
  bool transposed_;
  std::shared_ptr<const Update> update_;
};

class LinearWeight final : public Product {
 public:
  LinearWeight(bool transposed, Write write) : transposed_(transposed), write_(write) {}
  const char* name() const override { return "linear_weight"; }
  std::vector<Type> infer(std::span<const Type> in) const override {
    const int64_t I = in[0].shape[1], O = in[1].shape[1];
    return {transposed_ ? Type{{O, I}} : Type{{I, O}}};
  }
  Dims dims(const Type* in, const Type* out) const override {
    return {out[0].shape[0], out[0].shape[1], in[0].shape[0]};
  }
  void run(const Frame& f, int part, int parts) const override {
    kernels::Gemm g = weight_product(f, transposed_);
    g.c = f.out(0);
    g.accumulate = write_.adds(*f.now);
    run_part(f, g, part, parts, false);
  }
  OpPointer then(const OpPointer& update, bool rows) const override {
    auto pieces = std::dynamic_pointer_cast<const Update>(update);
    if (!pieces || !pieces->by_elements() || write_.add || (rows && !transposed_)) return nullptr;
    return std::make_shared<UpdatedWeight>(transposed_, std::move(pieces));
  }

 private:
  bool transposed_;
  Write write_;
};

// dy [N, O] -> dbias [O]; parts split the columns
class LinearBias final : public Op {
 public:
  explicit LinearBias(Write write) : write_(write) {}
  const char* name() const override { return "linear_bias"; }
  std::vector<Type> infer(std::span<const Type> in) const override { return {{{in[0].shape[1]}}}; }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return 4. * double(in[0].elements());
  }
  int64_t parts(std::span<const Type> in, std::span<const Type>) const override {
    return (in[0].shape[1] + 127) / 128;
  }
  void run(const Frame& f, int part, int parts) const override {
    const int64_t N = f.in_type(0).shape[0], O = f.in_type(0).shape[1];
    const Range columns = split(O, part, parts, 128);
    f.kernels->column_sum({N, columns.end - columns.begin, O, f.in(0) + columns.begin,
                           f.out(0) + columns.begin, write_.adds(*f.now)});
  }

 private:
  Write write_;
};

class LinearForward final : public Product {
 public:
  explicit LinearForward(Linear options) : options_(options) {}
  const char* name() const override { return "linear"; }
  bool takes_half(int input) const override { return input == 1; }
  std::vector<Type> infer(std::span<const Type> in) const override {
    const int64_t inner = in[1].shape[options_.transposed ? 1 : 0],
                  outer = in[1].shape[options_.transposed ? 0 : 1];
    if (in.size() != 2u + options_.bias + options_.addend || in[0].shape.rank() != 2 ||
        in[0].shape[1] != inner || (options_.bias && in[2].elements() != outer) || !is_floating(in[1].dtype))
      fail("[linear] x {} and w {}{} do not fit", in[0].text(), in[1].text(),
           options_.transposed ? " transposed" : "");
    return {{{in[0].shape[0], outer}}};
  }
  Dims dims(const Type* in, const Type* out) const override {
    return {out[0].shape[0], out[0].shape[1], in[0].shape[1]};
  }
  int in_place(int) const override { return options_.in_place ? addend_index() : -1; }
  void run(const Frame& f, int part, int parts) const override {
    const int64_t N = f.in_type(0).shape[0], I = f.in_type(0).shape[1], O = f.out_type(0).shape[1];
    const bool onto = options_.addend && f.in(addend_index()) == f.out(0);
    run_part(f,
             {.m = N,
              .n = O,
              .k = I,
              .a = f.in(0),
              .a_row = I,
              .b = f.inputs[1].data,
              .b_type = f.in_type(1).dtype,
              .b_row = options_.transposed ? 1 : O,
              .b_col = options_.transposed ? I : 1,
              .c = f.out(0),
              .c_row = O,
              .bias = options_.bias ? f.in(2) : nullptr,
              .addend = options_.addend && !onto ? f.in(addend_index()) : nullptr,
              .addend_row = O,
              .accumulate = onto},
             part, parts);
  }
  void backward(Backward& b) const override {
    const ValueId dy = b.gradient_of_output(0);
    if (b.wants(1)) {
      const ValueId x = b.in(0);
      const auto dw = b.gradient_of_input(1);
      b.list().emit_into(std::make_shared<LinearWeight>(options_.transposed, dw.write), {x, dy}, {dw.id},
                         b.name() + ".d_w");
    }
    if (options_.bias && b.wants(2)) {
      const auto db = b.gradient_of_input(2);
      b.list().emit_into(std::make_shared<LinearBias>(db.write), {dy}, {db.id}, b.name() + ".d_b");
    }
    if (b.wants(0)) {
      const auto dx = b.gradient_of_input(0);
      b.list().emit_into(std::make_shared<LinearInput>(options_.transposed, dx.write), {dy, b.in(1)}, {dx.id},
                         b.name() + ".d_x");
    }
    if (options_.addend) b.pass(addend_index(), dy);
  }

 private:
  int addend_index() const { return options_.bias ? 3 : 2; }
  Linear options_;
};

}  // namespace

OpPointer linear(Linear options) { return std::make_shared<LinearForward>(options); }

}  // namespace plimsoll::ops
