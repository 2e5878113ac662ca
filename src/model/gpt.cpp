#include "model/gpt.hpp"

#include <cmath>
#include <numbers>

#include "base/random.hpp"
#include "graph/ops.hpp"

namespace plimsoll {

ValueId Gpt::add(Graph& graph, std::string name, Type type, float spread) {
  const ValueId id = graph.value(std::move(name), type, Role::parameter, Keep::forever);
  parameters_.push_back({id, type.shape.rank() == 2, spread});
  return id;
}

Gpt::Gpt(Graph& graph, const GptShape& shape) : shape_(shape) {
  if (shape_.positions == 0) shape_.positions = shape_.context;
  const auto& s = shape_;
  if (s.dim % s.heads) fail("[gpt] dim {} is not divisible by {} heads", s.dim, s.heads);
  const float spread = 0.02f, residual = spread / std::sqrt(2.f * static_cast<float>(s.layers));
  constexpr float bias = 0, gain = -1;
  wte_ = add(graph, "wte.weight", {{s.vocab, s.dim}}, spread);
  wpe_ = add(graph, "wpe.weight", {{s.positions, s.dim}}, spread);
  for (int64_t l = 0; l < s.layers; ++l) {
    const std::string h = fmt::format("h.{}.", l);
    Block b{};
    b.ln1_gain = add(graph, h + "ln_1.weight", {{s.dim}}, gain);
    b.ln1_bias = add(graph, h + "ln_1.bias", {{s.dim}}, bias);
    b.attn = add(graph, h + "attn.c_attn.weight", {{s.dim, 3 * s.dim}}, spread);
    b.attn_bias = add(graph, h + "attn.c_attn.bias", {{3 * s.dim}}, bias);
    b.proj = add(graph, h + "attn.c_proj.weight", {{s.dim, s.dim}}, residual);
    b.proj_bias = add(graph, h + "attn.c_proj.bias", {{s.dim}}, bias);
    b.ln2_gain = add(graph, h + "ln_2.weight", {{s.dim}}, gain);
    b.ln2_bias = add(graph, h + "ln_2.bias", {{s.dim}}, bias);
    b.fc = add(graph, h + "mlp.c_fc.weight", {{s.dim, s.ff}}, spread);
    b.fc_bias = add(graph, h + "mlp.c_fc.bias", {{s.ff}}, bias);
    b.fc_proj = add(graph, h + "mlp.c_proj.weight", {{s.ff, s.dim}}, residual);
    b.fc_proj_bias = add(graph, h + "mlp.c_proj.bias", {{s.dim}}, bias);
    blocks_.push_back(b);
  }
  ln_gain_ = add(graph, "ln_f.weight", {{s.dim}}, gain);
  ln_bias_ = add(graph, "ln_f.bias", {{s.dim}}, bias);
  if (!s.tied) head_ = add(graph, "lm_head.weight", {{s.vocab, s.dim}}, spread);
  if (s.head_bias) head_bias_ = add(graph, "lm_head.bias", {{s.vocab}}, bias);
}

uint64_t Gpt::count() const {
  const auto d = static_cast<uint64_t>(shape_.dim), f = static_cast<uint64_t>(shape_.ff),
             v = static_cast<uint64_t>(shape_.vocab);
  const uint64_t block = 4 * d + 3 * d * d + 3 * d + d * d + d + 2 * d * f + f + d;
  return v * d + static_cast<uint64_t>(shape_.positions) * d + static_cast<uint64_t>(shape_.layers) * block +
         2 * d + (shape_.tied ? 0 : v * d) + (shape_.head_bias ? v : 0);
}

ValueId Gpt::hidden(List& list, ValueId tokens, int64_t B, int64_t T, float dropout) const {
  uint32_t site = 0;
  auto dropped = [&](ValueId x, const std::string& name) {
    return dropout > 0 ? list.emit(ops::dropout({dropout, ++site, B * T}, false), {x}, name)[0] : x;
  };
  // x + dropout(linear(y)): fused into the product where nothing is dropped.
  auto residual = [&](ValueId y, ValueId w, ValueId bias, ValueId x, const std::string& name) {
    if (dropout == 0) return list.emit(ops::linear({.addend = true}), {y, w, bias, x}, name)[0];
    const ValueId t = list.emit(ops::linear({}), {y, w, bias}, name)[0];
    return list.emit(ops::dropout({dropout, ++site, B * T}, true), {t, x}, name + ".residual")[0];
  };
  ValueId x = dropped(list.emit(ops::embedding(), {tokens, wte_, wpe_}, "embedding")[0], "embedding.dropout");
  for (size_t l = 0; l < blocks_.size(); ++l) {
    const Block& b = blocks_[l];
    const std::string h = fmt::format("h.{}.", l);
    const ValueId y = list.emit(ops::layernorm(), {x, b.ln1_gain, b.ln1_bias}, h + "ln_1")[0];
    const ValueId qkv = list.emit(ops::linear({}), {y, b.attn, b.attn_bias}, h + "qkv")[0];
    const ValueId a =
        list.emit(ops::attention(B, T, shape_.heads, {dropout, ++site, B * T}), {qkv}, h + "attention")[0];
    x = residual(a, b.proj, b.proj_bias, x, h + "attention.proj");
    const ValueId z = list.emit(ops::layernorm(), {x, b.ln2_gain, b.ln2_bias}, h + "ln_2")[0];
    const ValueId f = list.emit(ops::linear({}), {z, b.fc, b.fc_bias}, h + "fc")[0];
    const ValueId g = list.emit(ops::gelu(), {f}, h + "gelu")[0];
    x = residual(g, b.fc_proj, b.fc_proj_bias, x, h + "mlp.proj");
  }
  return list.emit(ops::layernorm(), {x, ln_gain_, ln_bias_}, "ln_f")[0];
}

ValueId Gpt::hidden_cached(List& list, ValueId token) const {
  Graph& graph = list.graph();
  ValueId x = list.emit(ops::embedding_at(), {token, wte_, wpe_}, "g.embedding")[0];
  for (size_t l = 0; l < blocks_.size(); ++l) {
    const Block& b = blocks_[l];
    const std::string h = fmt::format("g.{}.", l);
    const ValueId y = list.emit(ops::layernorm(), {x, b.ln1_gain, b.ln1_bias}, h + "ln_1")[0];
    const ValueId qkv = list.emit(ops::linear({}), {y, b.attn, b.attn_bias}, h + "qkv")[0];
    const Type row{{1, shape_.dim}}, cache{{shape_.context, shape_.dim}};
    const ValueId a = graph.value(h + "attention", row, Role::activation);
    const ValueId keys = graph.value(h + "keys", cache, Role::activation, Keep::list);
    const ValueId values = graph.value(h + "values", cache, Role::activation, Keep::list);
    list.emit_into(ops::attention_cached(shape_.context, shape_.heads), {qkv}, {a, keys, values},
                   h + "attention");
    x = list.emit(ops::linear({.addend = true}), {a, b.proj, b.proj_bias, x}, h + "attention.proj")[0];
    const ValueId z = list.emit(ops::layernorm(), {x, b.ln2_gain, b.ln2_bias}, h + "ln_2")[0];
    const ValueId f = list.emit(ops::linear({}), {z, b.fc, b.fc_bias}, h + "fc")[0];
    const ValueId g = list.emit(ops::gelu(), {f}, h + "gelu")[0];
    x = list.emit(ops::linear({.addend = true}), {g, b.fc_proj, b.fc_proj_bias, x}, h + "mlp.proj")[0];
  }
  return list.emit(ops::layernorm(), {x, ln_gain_, ln_bias_}, "g.ln_f")[0];
}

ValueId Gpt::logits(List& list, ValueId hidden, const std::string& name) const {
  std::vector<ValueId> in = {hidden, head()};
  if (shape_.head_bias) in.push_back(head_bias_);
  return list.emit(ops::linear({.transposed = true, .bias = shape_.head_bias}), in, name)[0];
}

void initialise(const Graph& graph, const Parameter& parameter, uint64_t seed, float* data, int64_t first,
                int64_t count) {
  const std::string& name = graph[parameter.id].name;
  uint64_t stream = seed;
  for (char c : name) stream = mix64(stream * 131 + static_cast<unsigned char>(c));
  const CounterRng rng(stream, Stream::weights);
  if (parameter.spread <= 0) {
    for (int64_t i = 0; i < count; ++i) data[first + i] = parameter.spread < 0 ? 1.f : 0.f;
    return;
  }
  // Box-Muller: the pair (2p, 2p + 1) shares one draw of 64 bits.
  for (int64_t i = first; i < first + count; ++i) {
    const uint64_t bits = rng.bits(static_cast<uint64_t>(i / 2));
    const float u = static_cast<float>((bits >> 40) + 1) * 0x1p-24f,
                v = static_cast<float>(bits & 0xffffff) * 0x1p-24f;
    const float radius = parameter.spread * std::sqrt(-2 * std::log(u)),
                angle = 2 * std::numbers::pi_v<float> * v;
    data[i] = radius * (i % 2 ? std::sin(angle) : std::cos(angle));
  }
}

}  // namespace plimsoll
