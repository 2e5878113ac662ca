// Causal self-attention over fused q, k, v; one part is a group of heads. T x T is never stored.
#include "base/random.hpp"
#include "graph/differentiate.hpp"
#include "graph/ops.hpp"
#include "graph/ops/dropout_key.hpp"

namespace plimsoll::ops {
namespace {

struct Heads {
  int64_t B, T, H;
  DropoutSite dropout;

  kernels::AttentionDropout mask(const Moment& now, int64_t b, int64_t h) const {
    if (dropout.rate == 0) return {};
    const int64_t sequence = now.micro * B + b;  // within the step: micro-batches do not change the masks
    return {dropout_key(now, dropout.site, static_cast<uint64_t>(sequence * H + h)), 0,
            dropout_threshold(dropout.rate), 1 / (1 - dropout.rate)};
  }
};

// qkv, out, lse, dout -> dqkv
class AttentionBackward final : public Op {
 public:
  explicit AttentionBackward(Heads heads) : heads_(heads) {}
  const char* name() const override { return "attention_backward"; }
  Cost cost() const override { return Cost::attention; }
  std::vector<Type> infer(std::span<const Type> in) const override { return {in[0]}; }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return 6. * double(in[0].elements()) * double(heads_.T);
  }
  int64_t parts(std::span<const Type>, std::span<const Type>) const override { return heads_.B * heads_.H; }
  size_t scratch(std::span<const Type>, std::span<const Type> out) const override {
    return kernels::attention_scratch_floats(heads_.T, out[0].shape[1] / 3 / heads_.H);
  }
  void run(const Frame& f, int part, int parts) const override {
    const auto [B, T, H, dropout] = heads_;
    const int64_t C = f.in_type[0].shape[1] / 3, width = C / H;
    const Range range = split(B * H, part, parts);
    for (int64_t i = range.begin; i < range.end; ++i) {
      const int64_t b = i / H, h = i % H;
      const float* q = f.in[0] + b * T * 3 * C + h * width;
      float* dq = f.out[0] + b * T * 3 * C + h * width;
      f.kernels->attention_backward({T, width, q, q + C, q + 2 * C, 3 * C, f.in[1] + b * T * C + h * width,
                                     f.in[3] + b * T * C + h * width, C, f.in[2] + i * T, dq, dq + C,
                                     dq + 2 * C, heads_.mask(*f.now, b, h)},
                                    f.scratch);
    }
  }

 private:
  Heads heads_;
};

class Attention final : public Op {
 public:
  explicit Attention(Heads heads) : heads_(heads) {}
  const char* name() const override { return "attention"; }
  Cost cost() const override { return Cost::attention; }
  std::vector<Type> infer(std::span<const Type> in) const override {
    const int64_t C = in[0].shape[1] / 3;
    if (in[0].shape[0] != heads_.B * heads_.T || in[0].shape[1] % 3 || C % heads_.H)
      fail("[attention] qkv {} does not fit {} sequences of {} with {} heads", in[0].shape.text(), heads_.B,
           heads_.T, heads_.H);
    return {{{in[0].shape[0], C}}, {{heads_.B * heads_.H, heads_.T}}};
  }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return 2. * double(in[0].elements()) * double(heads_.T) * 2 / 3;
  }
  int64_t parts(std::span<const Type>, std::span<const Type>) const override { return heads_.B * heads_.H; }
  size_t scratch(std::span<const Type> in, std::span<const Type>) const override {
    return kernels::attention_scratch_floats(heads_.T, in[0].shape[1] / 3 / heads_.H);
  }
  void run(const Frame& f, int part, int parts) const override {
    const auto [B, T, H, dropout] = heads_;
    const int64_t C = f.in_type[0].shape[1] / 3, width = C / H;
    const Range range = split(B * H, part, parts);
    for (int64_t i = range.begin; i < range.end; ++i) {
      const int64_t b = i / H, h = i % H;
      const float* q = f.in[0] + b * T * 3 * C + h * width;
      f.kernels->attention({T, width, q, q + C, q + 2 * C, 3 * C, f.out[0] + b * T * C + h * width, C,
                            f.out[1] + i * T, heads_.mask(*f.now, b, h)},
                           f.scratch);
    }
  }
  void backward(Backward& b) const override {
    const auto target = b.gradient_of_input(0);
    if (target.write.add) fail("[attention] qkv is used twice; its gradient cannot be added to");
    b.list().emit_into(std::make_shared<AttentionBackward>(heads_),
                       {b.in(0), b.out(0), b.out(1), b.gradient_of_output(0)}, {target.id},
                       b.name() + ".d_qkv");
  }

 private:
  Heads heads_;
};

class AttentionCached final : public Op {
 public:
  AttentionCached(int64_t T, int64_t H) : T_(T), H_(H) {}
  const char* name() const override { return "attention_cached"; }
  Cost cost() const override { return Cost::attention; }
  std::vector<Type> infer(std::span<const Type> in) const override {
    const int64_t C = in[0].shape[1] / 3;
    return {{{1, C}}, {{T_, C}}, {{T_, C}}};
  }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return 2. * double(in[0].elements()) * double(T_) / 2;
  }
  int64_t parts(std::span<const Type>, std::span<const Type>) const override { return H_; }
  size_t scratch(std::span<const Type>, std::span<const Type>) const override {
    return static_cast<size_t>(T_);
  }
  void run(const Frame& f, int part, int parts) const override {
    const int64_t C = f.out_type[0].shape[1], width = C / H_, at = f.now->position;
    const Range heads = split(H_, part, parts);
    for (int64_t h = heads.begin; h < heads.end; ++h) {
      const float* q = f.in[0] + h * width;
      float *keys = f.out[1] + h * width, *values = f.out[2] + h * width;
      for (int64_t i = 0; i < width; ++i) {
        keys[at * C + i] = q[C + i];
        values[at * C + i] = q[2 * C + i];
      }
      f.kernels->attention_cached({at + 1, width, q, keys, values, C, f.out[0] + h * width, f.scratch});
    }
  }

 private:
  int64_t T_, H_;
};

}  // namespace

OpPointer attention(int64_t B, int64_t T, int64_t H, DropoutSite dropout) {
  return std::make_shared<Attention>(Heads{B, T, H, dropout});
}
OpPointer attention_cached(int64_t T, int64_t H) { return std::make_shared<AttentionCached>(T, H); }

}  // namespace plimsoll::ops
