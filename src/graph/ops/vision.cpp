// What a vision tower needs beyond what text does: patches of pixels, a table added to every tile, neighbouring patches joined,
// and rows of features put in the place of tokens.
#include <array>
#include <cstring>

#include "graph/differentiate.hpp"
#include "graph/ops.hpp"

namespace plimsoll::ops {
namespace {

size_t row_bytes(int64_t C) { return static_cast<size_t>(C) * sizeof(float); }

class Patches final : public Op {
 public:
  explicit Patches(const PatchOptions& options) : o_(options) {
    for (int c = 0; c < 3; ++c)
      for (int byte = 0; byte < 256; ++byte) {
        const auto scaled = static_cast<float>(byte * o_.rescale);
        values_[static_cast<size_t>(c)][static_cast<size_t>(byte)] =
            (scaled - o_.mean[static_cast<size_t>(c)]) / o_.deviation[static_cast<size_t>(c)];
      }
  }
  const char* name() const override { return "patches"; }
  std::vector<Type> infer(std::span<const Type> in) const override {
    if (in[0].dtype != DType::u8 || o_.tile % o_.patch || in[0].shape[1] != 3 * o_.tile * o_.tile)
      fail("[patches] {} does not fit tiles of {} pixels in patches of {}", in[0].text(), o_.tile, o_.patch);
    const int64_t side = o_.tile / o_.patch;
    return {{{in[0].shape[0] * side * side, 3 * o_.patch * o_.patch}}};
  }
  double work(std::span<const Type>, std::span<const Type> out) const override {
    return 2. * double(out[0].elements());
  }
  int64_t parts(std::span<const Type>, std::span<const Type> out) const override { return out[0].shape[0]; }
  void run(const Frame& f, int part, int parts) const override {
    const int64_t p = o_.patch, side = o_.tile / p, width = 3 * p * p;
    const auto* pixels = f.inputs[0].as<const uint8_t>();
    const Range rows = split(f.out_type(0).shape[0], part, parts);
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      const int64_t tile = row / (side * side), down = row / side % side * p, across = row % side * p;
      for (int64_t y = 0; y < p; ++y) {
        const uint8_t* from = pixels + ((tile * o_.tile + down + y) * o_.tile + across) * 3;
        for (int64_t x = 0; x < p; ++x)
          for (int64_t c = 0; c < 3; ++c)
            f.out(0)[row * width + (c * p + y) * p + x] = values_[static_cast<size_t>(c)][from[3 * x + c]];
      }
    }
  }

 private:
  PatchOptions o_;
  std::array<std::array<float, 256>, 3> values_;
};

// dy [N, C] -> dtable [P, C]. Parts split the columns, so sums keep one order.
class AddTableBackward final : public Op {
 public:
  AddTableBackward(Type table, Write write) : table_(table), write_(write) {}
  const char* name() const override { return "add_table_backward"; }
  std::vector<Type> infer(std::span<const Type>) const override { return {table_}; }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return 2. * double(in[0].elements());
  }
  int64_t parts(std::span<const Type>, std::span<const Type>) const override { return table_.shape[0]; }
  void run(const Frame& f, int part, int parts) const override {
    const int64_t P = table_.shape[0], C = table_.shape[1], N = f.in_type(0).shape[0];
    const Range rows = split(P, part, parts);
    for (int64_t r = rows.begin; r < rows.end; ++r) {
      float* out = f.out(0) + r * C;
      if (!write_.adds(*f.now)) std::memset(out, 0, row_bytes(C));
      for (int64_t n = r; n < N; n += P) f.kernels->add({C, out, f.in(0) + n * C, out});
    }
  }

 private:
  Type table_;
  Write write_;
};

class AddTable final : public Op {
 public:
  const char* name() const override { return "add_table"; }
  bool takes_half(int input) const override { return input == 1; }
  std::vector<Type> infer(std::span<const Type> in) const override {
    if (in[0].shape[1] != in[1].shape[1] || in[0].shape[0] % in[1].shape[0] || !is_floating(in[1].dtype))
      fail("[add_table] {} and the table {} do not fit", in[0].text(), in[1].text());
    return {in[0]};
  }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return double(in[0].elements());
  }
  int64_t parts(std::span<const Type> in, std::span<const Type>) const override { return in[0].shape[0]; }
  size_t scratch(std::span<const Type> in, std::span<const Type>) const override {
    return in[1].dtype == DType::f32 ? 0 : static_cast<size_t>(in[1].shape[1]);
  }
  void run(const Frame& f, int part, int parts) const override {
    const int64_t P = f.in_type(1).shape[0], C = f.in_type(1).shape[1];
    const DType stored = f.in_type(1).dtype;
    const Range rows = split(f.in_type(0).shape[0], part, parts);
    for (int64_t n = rows.begin; n < rows.end; ++n) {
      const std::byte* row = f.inputs[1].data + n % P * C * static_cast<int64_t>(size_of(stored));
      if (stored != DType::f32) f.kernels->widen({C, row, stored, f.scratch});
      f.kernels->add({C, f.in(0) + n * C,
                      stored == DType::f32 ? reinterpret_cast<const float*>(row) : f.scratch,
                      f.out(0) + n * C});
    }
  }
  void backward(Backward& b) const override {
    const ValueId dy = b.gradient_of_output(0);
    if (b.wants(1)) {
      const auto target = b.gradient_of_input(1);
      const Type type = b.list().graph()[b.node().in[1]].type;
      b.list().emit_into(std::make_shared<AddTableBackward>(type, target.write), {dy}, {target.id},
                         b.name() + ".d_table");
    }
    b.pass(0, dy);
  }
};

// Patches next to each other in a square become one row, or the other way round.
class JoinPatches final : public Op {
 public:
  JoinPatches(int64_t side, int64_t factor, bool back, Write write = {})
      : side_(side), factor_(factor), back_(back), write_(write) {}
  const char* name() const override { return back_ ? "join_patches_backward" : "join_patches"; }
  std::vector<Type> infer(std::span<const Type> in) const override {
    const int64_t rows = in[0].shape[0], width = in[0].shape[1], joined = factor_ * factor_;
    const int64_t tile = back_ ? side_ * side_ / joined : side_ * side_;
    if (side_ % factor_ || rows % tile || (back_ && width % joined))
      fail("[{}] {} does not fit squares of {} joined by {}", name(), in[0].text(), side_, factor_);
    return {{{back_ ? rows * joined : rows / joined, back_ ? width / joined : width * joined}}};
  }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return double(in[0].elements());
  }
  int64_t parts(std::span<const Type>, std::span<const Type> out) const override { return out[0].shape[0]; }
  void run(const Frame& f, int part, int parts) const override {
    const int64_t small = side_ / factor_, joined = factor_ * factor_;
    const int64_t C = (back_ ? f.out_type(0) : f.in_type(0)).shape[1];
    const Range rows = split(f.out_type(0).shape[0], part, parts);
    for (int64_t n = rows.begin; n < rows.end; ++n)
      if (back_) {
        const int64_t tile = n / (side_ * side_), y = n / side_ % side_, x = n % side_;
        const int64_t row = (tile * small + y / factor_) * small + x / factor_;
        const float* from = f.in(0) + (row * joined + y % factor_ * factor_ + x % factor_) * C;
        float* to = f.out(0) + n * C;
        if (write_.adds(*f.now))
          f.kernels->add({C, to, from, to});
        else
          std::memcpy(to, from, row_bytes(C));
      } else {
        const int64_t tile = n / (small * small), y = n / small % small * factor_, x = n % small * factor_;
        for (int64_t k = 0; k < joined; ++k) {
          const int64_t patch = (tile * side_ + y + k / factor_) * side_ + x + k % factor_;
          std::memcpy(f.out(0) + (n * joined + k) * C, f.in(0) + patch * C, row_bytes(C));
        }
      }
  }
  void backward(Backward& b) const override {
    if (!b.wants(0)) return;
    const auto dx = b.gradient_of_input(0);
    b.list().emit_into(std::make_shared<JoinPatches>(side_, factor_, true, dx.write),
                       {b.gradient_of_output(0)}, {dx.id}, b.name() + ".d_x");
  }

 private:
  int64_t side_, factor_;
  bool back_;
  Write write_;
};

// Calls row(n, k) for each of N inputs: k counts those that are `token`, and is -1 for others or beyond `most`.
template <typename Row>
void each_placed(const Frame& f, int tokens, int32_t token, int64_t most, Row row) {
  const int64_t B = f.in_type(tokens).shape[0], T = f.in_type(tokens).shape[1] - 1;
  int64_t next = 0;
  for (int64_t b = 0; b < B; ++b)
    for (int64_t t = 0; t < T; ++t) {
      const bool placed = f.tokens(tokens)[b * (T + 1) + t] == token && next < most;
      row(b * T + t, placed ? next++ : -1);
    }
}

// dy [N, C], tokens -> dx [N, C]: 0 where features stand
class PlaceRowsText final : public Op {
 public:
  PlaceRowsText(int32_t token, int64_t rows, Write write) : token_(token), rows_(rows), write_(write) {}
  const char* name() const override { return "place_rows_text"; }
  std::vector<Type> infer(std::span<const Type> in) const override { return {in[0]}; }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return double(in[0].elements());
  }
  int64_t parts(std::span<const Type>, std::span<const Type>) const override { return 1; }
  void run(const Frame& f, int, int) const override {
    const int64_t C = f.in_type(0).shape[1];
    const bool adds = write_.adds(*f.now);
    each_placed(f, 1, token_, rows_, [&](int64_t n, int64_t k) {
      float* to = f.out(0) + n * C;
      if (k >= 0 && !adds) std::memset(to, 0, row_bytes(C));
      if (k >= 0) return;
      if (adds)
        f.kernels->add({C, to, f.in(0) + n * C, to});
      else
        std::memcpy(to, f.in(0) + n * C, row_bytes(C));
    });
  }

 private:
  int32_t token_;
  int64_t rows_;
  Write write_;
};

// dy [N, C], tokens -> dfeatures [R, C]: 0 for those that stand nowhere
class PlaceRowsFeatures final : public Op {
 public:
  PlaceRowsFeatures(int32_t token, Type features, Write write)
      : token_(token), features_(features), write_(write) {}
  const char* name() const override { return "place_rows_features"; }
  std::vector<Type> infer(std::span<const Type>) const override { return {features_}; }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return double(in[0].elements());
  }
  int64_t parts(std::span<const Type>, std::span<const Type>) const override { return 1; }
  void run(const Frame& f, int, int) const override {
    const int64_t C = features_.shape[1];
    if (!write_.adds(*f.now)) std::memset(f.out(0), 0, features_.bytes());
    each_placed(f, 1, token_, features_.shape[0], [&](int64_t n, int64_t k) {
      if (k >= 0) f.kernels->add({C, f.out(0) + k * C, f.in(0) + n * C, f.out(0) + k * C});
    });
  }

 private:
  int32_t token_;
  Type features_;
  Write write_;
};

class PlaceRows final : public Op {
 public:
  explicit PlaceRows(int32_t token) : token_(token) {}
  const char* name() const override { return "place_rows"; }
  std::vector<Type> infer(std::span<const Type> in) const override {
    if (in[1].dtype != DType::i32 || in[0].shape[0] != in[1].shape[0] * (in[1].shape[1] - 1) ||
        in[0].shape[1] != in[2].shape[1])
      fail("[place_rows] {} with tokens {} and features {} do not fit", in[0].text(), in[1].text(),
           in[2].text());
    return {in[0]};
  }
  int in_place(int) const override { return 0; }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return double(in[0].elements());
  }
  int64_t parts(std::span<const Type>, std::span<const Type>) const override { return 1; }
  void run(const Frame& f, int, int) const override {
    const int64_t C = f.in_type(0).shape[1];
    each_placed(f, 1, token_, f.in_type(2).shape[0], [&](int64_t n, int64_t k) {
      const float* from = k >= 0 ? f.in(2) + k * C : f.in(0) + n * C;
      if (from != f.out(0) + n * C) std::memcpy(f.out(0) + n * C, from, row_bytes(C));
    });
  }
  void backward(Backward& b) const override {
    const ValueId dy = b.gradient_of_output(0);
    const Type features = b.list().graph()[b.node().in[2]].type;
    if (b.wants(2)) {
      const auto target = b.gradient_of_input(2);
      b.list().emit_into(std::make_shared<PlaceRowsFeatures>(token_, features, target.write), {dy, b.in(1)},
                         {target.id}, b.name() + ".d_features");
    }
    if (b.wants(0)) {
      const auto target = b.gradient_of_input(0);
      b.list().emit_into(std::make_shared<PlaceRowsText>(token_, features.shape[0], target.write),
                         {dy, b.in(1)}, {target.id}, b.name() + ".d_x");
    }
  }

 private:
  int32_t token_;
};

class PlaceRowAt final : public Op {
 public:
  const char* name() const override { return "place_row_at"; }
  std::vector<Type> infer(std::span<const Type> in) const override {
    if (in[1].dtype != DType::i32 || in[0].shape[1] != in[2].shape[1])
      fail("[place_row_at] {} with features {} do not fit", in[0].text(), in[2].text());
    return {in[0]};
  }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return double(in[0].elements());
  }
  int64_t parts(std::span<const Type>, std::span<const Type>) const override { return 1; }
  void run(const Frame& f, int, int) const override {
    const int64_t C = f.in_type(0).shape[1], row = f.tokens(1)[0];
    std::memcpy(f.out(0), row < 0 ? f.in(0) : f.in(2) + row * C, row_bytes(C));
  }
};

}  // namespace

OpPointer patches(const PatchOptions& options) { return std::make_shared<Patches>(options); }
OpPointer add_table() { return std::make_shared<AddTable>(); }
OpPointer join_patches(int64_t side, int64_t factor) {
  return std::make_shared<JoinPatches>(side, factor, false);
}
OpPointer place_rows(int32_t token) { return std::make_shared<PlaceRows>(token); }
OpPointer place_row_at() { return std::make_shared<PlaceRowAt>(); }

}  // namespace plimsoll::ops
