// Token and position embedding: a row of wte plus a row of wpe for each token.
#include <cstring>

#include "graph/differentiate.hpp"
#include "graph/ops.hpp"

namespace plimsoll::ops {
namespace {

// A row of wte, widened where it is stored in half precision, plus one of wpe where there is one.
void look_up(const Frame& f, int64_t token, int64_t position, float* out) {
  const int64_t C = f.out_type(0).shape[1];
  auto row = [&](int table, int64_t at) -> const void* {
    return f.inputs[table].data + at * C * int64_t(size_of(f.in_type(table).dtype));
  };
  const DType wte = f.in_type(1).dtype;
  if (f.input_count == 2) return f.kernels->widen({C, row(1, token), wte, out});
  const DType wpe = f.in_type(2).dtype;
  if (wte == DType::f32 && wpe == DType::f32)
    return f.kernels->add({C, f.in(1) + token * C, f.in(2) + position * C, out});
  // The one that is narrow goes through scratch.
  f.kernels->widen({C, row(1, token), wte, out});
  f.kernels->widen({C, row(2, position), wpe, f.scratch});
  f.kernels->add({C, out, f.scratch, out});
}
size_t look_up_scratch(std::span<const Type> in) {
  return in.size() > 2 && (in[1].dtype != DType::f32 || in[2].dtype != DType::f32) ? size_t(in[1].shape[1])
                                                                                   : 0;
}

// tokens [B, T+1], dx [N, C], positions [B, T]? -> dwte [V, C] or dwpe [T', C]. Parts split the columns, so sums keep one
// order.
class EmbeddingBackward final : public Op {
 public:
  EmbeddingBackward(Type table, bool positions, Write write)
      : table_(table), positions_(positions), write_(write) {}
  const char* name() const override { return "embedding_backward"; }
  bool adds_rows() const override { return !positions_; }
  std::vector<Type> infer(std::span<const Type>) const override { return {table_}; }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return 4. * double(in[1].elements());
  }
  int64_t parts(std::span<const Type>, std::span<const Type> out) const override {
    return (out[0].shape[1] + 63) / 64;
  }
  void run(const Frame& f, int part, int parts) const override {
    const int64_t B = f.in_type(0).shape[0], T = f.in_type(0).shape[1] - 1, C = table_.shape[1],
                  rows = table_.shape[0];
    const Range columns = split(C, part, parts, 64);
    const auto width = static_cast<size_t>(columns.end - columns.begin);
    const int32_t* tokens = f.tokens(0);
    if (!write_.adds(*f.now))
      for (int64_t r = 0; r < rows; ++r)
        std::memset(f.out(0) + r * C + columns.begin, 0, width * sizeof(float));
    for (int64_t b = 0; b < B; ++b)
      for (int64_t t = 0; t < T; ++t) {
        const int64_t place = f.input_count > 2 ? f.tokens(2)[b * T + t] : t;
        float* row = f.out(0) + (positions_ ? place : tokens[b * (T + 1) + t]) * C + columns.begin;
        const float* dx = f.in(1) + (b * T + t) * C + columns.begin;
        f.kernels->add({static_cast<int64_t>(width), row, dx, row});
      }
  }

 private:
  Type table_;
  bool positions_;
  Write write_;
};

class Embedding final : public Op {
 public:
  const char* name() const override { return "embedding"; }
  bool takes_half(int input) const override { return input > 0; }
  std::vector<Type> infer(std::span<const Type> in) const override {
    const int64_t B = in[0].shape[0], T = in[0].shape[1] - 1;
    if (in[0].dtype != DType::i32 || !is_floating(in[1].dtype) ||
        (in.size() > 2 &&
         (in[1].shape[1] != in[2].shape[1] || in[2].shape[0] < T || !is_floating(in[2].dtype))))
      fail("[embedding] tokens {} with wte {} and wpe {} do not fit", in[0].text(), in[1].text(),
           in.size() > 2 ? in[2].text() : "none");
    if (in.size() > 3 && (in[3].dtype != DType::i32 || in[3].elements() != B * T))
      fail("[embedding] positions {} do not fit tokens {}", in[3].text(), in[0].text());
    return {{{B * T, in[1].shape[1]}}};
  }
  double work(std::span<const Type>, std::span<const Type> out) const override {
    return 2. * double(out[0].elements());
  }
  int64_t parts(std::span<const Type>, std::span<const Type> out) const override { return out[0].shape[0]; }
  size_t scratch(std::span<const Type> in, std::span<const Type>) const override {
    return look_up_scratch(in);
  }
  void run(const Frame& f, int part, int parts) const override {
    const int64_t T = f.in_type(0).shape[1] - 1, C = f.out_type(0).shape[1];
    const Range rows = split(f.out_type(0).shape[0], part, parts);
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      const int32_t token = f.tokens(0)[row / T * (T + 1) + row % T];
      look_up(f, token, f.input_count > 3 ? f.tokens(3)[row] : row % T, f.out(0) + row * C);
    }
  }
  void backward(Backward& b) const override {
    const ValueId dx = b.gradient_of_output(0);
    for (int table : {1, 2}) {
      if (!b.wants(table)) continue;
      const auto target = b.gradient_of_input(table);
      const Type type = b.list().graph()[b.node().in[static_cast<size_t>(table)]].type;
      std::vector<ValueId> in = {b.in(0), dx};
      if (b.has_in(3)) in.push_back(b.in(3));
      b.list().emit_into(std::make_shared<EmbeddingBackward>(type, table == 2, target.write), in, {target.id},
                         b.name() + (table == 1 ? ".d_wte" : ".d_wpe"));
    }
  }
};

class EmbeddingAt final : public Op {
 public:
  const char* name() const override { return "embedding_at"; }
  bool takes_half(int input) const override { return input > 0; }
  std::vector<Type> infer(std::span<const Type> in) const override { return {{{1, in[1].shape[1]}}}; }
  double work(std::span<const Type>, std::span<const Type> out) const override {
    return double(out[0].elements());
  }
  int64_t parts(std::span<const Type>, std::span<const Type>) const override { return 1; }
  size_t scratch(std::span<const Type> in, std::span<const Type>) const override {
    return look_up_scratch(in);
  }
  void run(const Frame& f, int, int) const override { look_up(f, f.tokens(0)[0], f.now->position, f.out(0)); }
};

}  // namespace

OpPointer embedding() { return std::make_shared<Embedding>(); }
OpPointer embedding_at() { return std::make_shared<EmbeddingAt>(); }

}  // namespace plimsoll::ops
