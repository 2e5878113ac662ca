// Self-attention of queries, keys and values that are three values, or columns of one. T x T is never stored. Several heads
// of queries may share one of keys and values (grouped-query attention).
#include "base/random.hpp"
#include "graph/differentiate.hpp"
#include "graph/ops.hpp"
#include "graph/ops/dropout_key.hpp"

namespace plimsoll::ops {
namespace {

// Where head `head` of sequence `b` begins in a [B T, heads width] operand.
template <typename T>
T* at(const Operand& x, int64_t b, int64_t length, int64_t head, int64_t width) {
  return x.as<T>() + b * length * x.row + head * width;
}

kernels::AttentionDropout mask(const AttentionOptions& o, const Moment& now, int64_t b, int64_t h) {
  if (o.dropout.rate == 0) return {};
  const int64_t sequence = now.micro * o.B + b;  // within the step: micro-batches do not change the masks
  return {dropout_key(now, o.dropout.site, static_cast<uint64_t>(sequence * o.heads + h)), 0,
          dropout_threshold(o.dropout.rate), 1 / (1 - o.dropout.rate)};
}

// What both directions read of head `h` of sequence `b`; inputs 0 to 2 are q, k and v, and `positions` the one where
// positions are, if they are.
template <typename Kernel>
Kernel head_of(const AttentionOptions& o, const Frame& f, int64_t b, int64_t h, size_t positions) {
  const Operand &q = f.inputs[0], &k = f.inputs[1], &v = f.inputs[2];
  const int64_t width = q.type.shape[1] / o.heads, kv = h / (o.heads / o.kv_heads);
  Kernel head{};
  head.length = o.T, head.width = width, head.causal = o.causal;
  head.q = at<const float>(q, b, o.T, h, width), head.q_row = q.row;
  head.k = at<const float>(k, b, o.T, kv, width), head.k_row = k.row;
  head.v = at<const float>(v, b, o.T, kv, width), head.v_row = v.row;
  head.dropout = mask(o, *f.now, b, h);
  if (f.input_count > positions) head.positions = f.tokens(static_cast<int>(positions)) + b * o.T;
  return head;
}

// q, k, v, out, lse, dout, positions? -> dq, dk, dv. The heads of a group add to the same dk and dv one after the other, so a
// part is a group. Groups that would leave threads without one are cut in two: each half makes the probabilities, which is
// two of the five products, and its half of the columns of the gradients.
class AttentionBackward final : public Op {
 public:
  explicit AttentionBackward(AttentionOptions options) : o_(options) {}
  const char* name() const override { return "attention_backward"; }
  Cost cost() const override { return Cost::attention; }
  bool takes_columns() const override { return true; }
  std::vector<Type> infer(std::span<const Type> in) const override { return {in[0], in[1], in[2]}; }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return (o_.causal ? 18. : 36.) * double(in[0].elements()) * double(o_.T);
  }
  int64_t parts(std::span<const Type>, std::span<const Type>) const override { return groups(); }
  int64_t parts_among(int threads, std::span<const Type> in, std::span<const Type>) const override {
    const int64_t left = groups() % threads, width = in[0].shape[1] / o_.heads;
    return groups() + (groups() < 2 * threads && 2 * left <= threads && width >= 2 * grain ? left : 0);
  }
  size_t scratch(std::span<const Type> in, std::span<const Type>) const override {
    return kernels::attention_scratch_floats(o_.T, in[0].shape[1] / o_.heads);
  }
  void run(const Frame& f, int part, int parts) const override {
    const int64_t width = f.in_type(0).shape[1] / o_.heads;
    if (parts <= groups()) return run_groups(f, split(groups(), part, parts), {0, width});
    // The halves come last: whole groups are taken from both ends.
    const int64_t halved = parts - groups(), first = (groups() - halved + 1) / 2, half = part - first;
    if (half < 0 || half >= 2 * halved) {
      const int64_t group = half < 0 ? part : part - halved;
      return run_groups(f, {group, group + 1}, {0, width});
    }
    const int64_t group = first + half / 2, middle = (width / 2 + grain - 1) / grain * grain;
    run_groups(f, {group, group + 1}, half % 2 ? Range{middle, width} : Range{0, middle});
  }

 private:
  static constexpr int64_t grain = 16;  // columns
  int64_t groups() const { return o_.B * o_.kv_heads; }
  void run_groups(const Frame& f, Range range, Range columns) const {
    const int64_t T = o_.T, group = o_.heads / o_.kv_heads, width = f.in_type(0).shape[1] / o_.heads;
    const Operand &out = f.inputs[3], &dout = f.inputs[5], &dq = f.outputs[0], &dk = f.outputs[1],
                  &dv = f.outputs[2];
    for (int64_t i = range.begin; i < range.end; ++i)
      for (int64_t member = 0; member < group; ++member) {
        const int64_t b = i / o_.kv_heads, kv = i % o_.kv_heads, h = kv * group + member;
        auto head = head_of<kernels::AttentionBackward>(o_, f, b, h, 6);
        head.column = columns.begin, head.columns = columns.end - columns.begin;
        head.out = at<const float>(out, b, T, h, width), head.dout = at<const float>(dout, b, T, h, width);
        head.out_row = out.row, head.lse = f.in(4) + (b * o_.heads + h) * T;
        head.dq = at<float>(dq, b, T, h, width), head.dq_row = dq.row;
        head.dk = at<float>(dk, b, T, kv, width), head.dk_row = dk.row;
        head.dv = at<float>(dv, b, T, kv, width), head.dv_row = dv.row;
        head.accumulate = member > 0;
        f.kernels->attention_backward(head, f.scratch);
      }
  }

  AttentionOptions o_;
};

class Attention final : public Op {
 public:
  explicit Attention(AttentionOptions options) : o_(options) {}
  const char* name() const override { return "attention"; }
  Cost cost() const override { return Cost::attention; }
  bool takes_columns() const override { return true; }
  std::vector<Type> infer(std::span<const Type> in) const override {
    const int64_t rows = o_.B * o_.T, width = in[0].shape[1] / o_.heads;
    const Shape queries{rows, width * o_.heads}, keys{rows, width * o_.kv_heads};
    if (o_.heads % o_.kv_heads || in[0].shape != queries || in[1].shape != keys || in[2].shape != keys)
      fail("[attention] q {}, k {}, v {} do not fit {} sequences of {} with {} heads, {} of keys",
           in[0].shape.text(), in[1].shape.text(), in[2].shape.text(), o_.B, o_.T, o_.heads, o_.kv_heads);
    if (in.size() > 3 && (in[3].dtype != DType::i32 || in[3].elements() != rows || !o_.causal))
      fail("[attention] positions {} do not fit {} sequences of {} that are causal", in[3].text(), o_.B,
           o_.T);
    return {in[0], {{o_.B * o_.heads, o_.T}}};
  }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return (o_.causal ? 4. : 8.) * double(in[0].elements()) * double(o_.T);
  }
  int64_t parts(std::span<const Type>, std::span<const Type>) const override {
    return o_.B * o_.heads * blocks();
  }
  size_t scratch(std::span<const Type> in, std::span<const Type>) const override {
    return kernels::attention_scratch_floats(o_.T, in[0].shape[1] / o_.heads);
  }
  // Heads follow each other, and parts begin and end with a block of queries wherever the work is divided.
  void run(const Frame& f, int part, int parts) const override {
    const int64_t T = o_.T, width = f.in_type(0).shape[1] / o_.heads, block = kernels::attention_block(T);
    const Operand& out = f.outputs[0];
    const Range range = split(o_.B * o_.heads * work_before(blocks()), part, parts);
    int64_t before = 0;
    for (int64_t i = 0; i < o_.B * o_.heads; ++i, before += work_before(blocks())) {
      int64_t first = 0;
      while (first < blocks() && before + work_before(first) < range.begin) ++first;
      int64_t end = first;
      while (end < blocks() && before + work_before(end) < range.end) ++end;
      if (first == end) continue;
      const int64_t b = i / o_.heads, h = i % o_.heads;
      auto head = head_of<kernels::Attention>(o_, f, b, h, 3);
      head.out = at<float>(out, b, T, h, width), head.out_row = out.row, head.lse = f.out(1) + i * T;
      head.first = first * block, head.end = std::min(end * block, T);
      f.kernels->attention(head, f.scratch);
    }
  }
  // Where one of the three is frozen its gradient is made all the same, and dropped: they come out of one sweep.
  void backward(Backward& b) const override {
    std::vector<ValueId> in = {b.in(0), b.in(1), b.in(2), b.out(0), b.out(1), b.gradient_of_output(0)}, out;
    if (b.has_in(3)) in.push_back(b.in(3));
    for (int i = 0; i < 3; ++i) {
      const auto target = b.gradient_or_scratch(i);
      if (target.write.add) fail("[attention] its input is used twice; the gradient cannot be added to");
      out.push_back(target.id);
    }
    b.list().emit_into(std::make_shared<AttentionBackward>(o_), in, out, b.name() + ".d_qkv");
  }

 private:
  int64_t blocks() const {
    const int64_t block = kernels::attention_block(o_.T);
    return (o_.T + block - 1) / block;
  }
  // Of one head, in the first `count` blocks of queries: where it is causal the later ones see more.
  int64_t work_before(int64_t count) const { return o_.causal ? count * (count + 1) / 2 : count; }

  AttentionOptions o_;
};

// One token: its key and value are put into the cache, then its queries look at all positions so far.
class AttentionCached final : public Op {
 public:
  AttentionCached(int64_t T, int64_t heads, int64_t kv_heads) : T_(T), heads_(heads), kv_heads_(kv_heads) {}
  const char* name() const override { return "attention_cached"; }
  Cost cost() const override { return Cost::attention; }
  bool takes_columns() const override { return true; }
  std::vector<Type> infer(std::span<const Type> in) const override {
    const int64_t width = in[0].shape[1] / heads_;
    const Shape queries{1, width * heads_}, keys{1, width * kv_heads_}, cache{T_, width * kv_heads_};
    if (heads_ % kv_heads_ || in[0].shape != queries || in[1].shape != keys || in[2].shape != keys)
      fail("[attention_cached] q {}, k {}, v {} do not fit {} heads, {} of keys", in[0].shape.text(),
           in[1].shape.text(), in[2].shape.text(), heads_, kv_heads_);
    return {in[0], {cache}, {cache}};
  }
  double work(std::span<const Type> in, std::span<const Type>) const override {
    return 3. * double(in[0].elements()) * double(T_);
  }
  int64_t parts(std::span<const Type>, std::span<const Type>) const override { return kv_heads_; }
  size_t scratch(std::span<const Type>, std::span<const Type>) const override {
    return static_cast<size_t>(T_);
  }
  void run(const Frame& f, int part, int parts) const override {
    const int64_t width = f.in_type(0).shape[1] / heads_, group = heads_ / kv_heads_, at = f.now->position,
                  row = f.outputs[1].row;
    const Range range = split(kv_heads_, part, parts);
    for (int64_t kv = range.begin; kv < range.end; ++kv) {
      float *keys = f.out(1) + kv * width, *values = f.out(2) + kv * width;
      for (int64_t i = 0; i < width; ++i) {
        keys[at * row + i] = f.in(1)[kv * width + i];
        values[at * row + i] = f.in(2)[kv * width + i];
      }
      for (int64_t h = kv * group; h < (kv + 1) * group; ++h)
        f.kernels->attention_cached({.length = at + 1,
                                     .width = width,
                                     .q = f.in(0) + h * width,
                                     .k = keys,
                                     .v = values,
                                     .k_row = row,
                                     .v_row = row,
                                     .out = f.out(0) + h * width,
                                     .scores = f.scratch});
    }
  }

 private:
  int64_t T_, heads_, kv_heads_;
};

}  // namespace

OpPointer attention(AttentionOptions options) {
  if (options.kv_heads == 0) options.kv_heads = options.heads;
  return std::make_shared<Attention>(options);
}
OpPointer attention_cached(int64_t T, int64_t heads, int64_t kv_heads) {
  return std::make_shared<AttentionCached>(T, heads, kv_heads ? kv_heads : heads);
}

}  // namespace plimsoll::ops
