#include "model/gpt.hpp"

#include <cmath>

#include "graph/ops.hpp"

namespace plimsoll {
namespace {

class Gpt final : public Model {
 public:
  Gpt(Graph& graph, const ModelSpec& spec);
  ValueId hidden(List& list, const Windows& windows) const override;
  ValueId logits(List& list, ValueId hidden, const std::string& name) const override;
  ValueId hidden_cached(List& list, const OneToken& token) const override;

 private:
  struct Block {
    ValueId ln1_gain, ln1_bias, ln2_gain, ln2_bias;
    Projection attn, proj, fc, fc_proj;
  };
  std::vector<ValueId> thirds(ValueId qkv, const std::string& h) const;

  std::vector<Block> blocks_;
  ValueId wte_, wpe_, ln_gain_, ln_bias_, head_ = no_value, head_bias_ = no_value;
};

Gpt::Gpt(Graph& graph, const ModelSpec& spec) : Model(graph, spec) {
  if (spec_.positions == 0) spec_.positions = spec_.context;
  if (spec_.kv_heads == 0) spec_.kv_heads = spec_.heads;
  const ModelSpec& s = spec_;
  if (s.dim % s.heads) fail_input("[gpt2] dim {} is not divisible by {} heads", s.dim, s.heads);
  if (s.kv_heads != s.heads)
    fail_input("[gpt2] {} heads with {} of keys; it has one each", s.heads, s.kv_heads);
  using enum Parameter::Kind;
  const float spread = 0.02f, residual = spread / std::sqrt(2.f * static_cast<float>(s.layers));
  wte_ = add("wte.weight", {s.vocab, s.dim}, embedding, spread);
  wpe_ = add("wpe.weight", {s.positions, s.dim}, embedding, spread);
  for (int l = 0; l < s.layers; ++l) {
    const std::string h = fmt::format("h.{}.", l);
    Block b{};
    b.ln1_gain = add(h + "ln_1.weight", {s.dim}, gain, 0, l);
    b.ln1_bias = add(h + "ln_1.bias", {s.dim}, bias, 0, l);
    b.attn = add_projection(h + "attn.c_attn", s.dim, 3 * s.dim, {.spread = spread, .block = l});
    b.proj = add_projection(h + "attn.c_proj", s.dim, s.dim, {.spread = residual, .block = l});
    b.ln2_gain = add(h + "ln_2.weight", {s.dim}, gain, 0, l);
    b.ln2_bias = add(h + "ln_2.bias", {s.dim}, bias, 0, l);
    b.fc = add_projection(h + "mlp.c_fc", s.dim, s.ff, {.spread = spread, .block = l});
    b.fc_proj = add_projection(h + "mlp.c_proj", s.ff, s.dim, {.spread = residual, .block = l});
    blocks_.push_back(b);
  }
  ln_gain_ = add("ln_f.weight", {s.dim}, gain);
  ln_bias_ = add("ln_f.bias", {s.dim}, bias);
  if (!s.tied) head_ = add("lm_head.weight", {s.vocab, s.dim}, matrix, spread);
  if (s.head_bias) head_bias_ = add("lm_head.bias", {s.vocab}, bias);
}

// Queries, keys and values out of the one product that makes them.
std::vector<ValueId> Gpt::thirds(ValueId qkv, const std::string& h) const {
  return {graph_.columns(qkv, 0, spec_.dim, h + "q"), graph_.columns(qkv, spec_.dim, spec_.dim, h + "k"),
          graph_.columns(qkv, 2 * spec_.dim, spec_.dim, h + "v")};
}

ValueId Gpt::hidden(List& list, const Windows& windows) const {
  const int64_t B = windows.B, T = windows.T;
  const float dropout = windows.dropout;
  uint32_t site = 0;
  auto dropped = [&](ValueId x, const std::string& name) {
    return dropout > 0 ? list.emit(ops::dropout({dropout, ++site, B * T}, false), {x}, name)[0] : x;
  };
  auto adapter = [&]() -> AdapterDropout {
    return windows.lora_dropout > 0 ? AdapterDropout{windows.lora_dropout, ++site, B * T} : AdapterDropout{};
  };
  // x + dropout(linear(y)): fused into the product where nothing is dropped.
  auto residual = [&](ValueId y, const Projection& p, ValueId x, const std::string& name) {
    if (dropout == 0) return project(list, p, y, name, x, adapter());
    const ValueId t = project(list, p, y, name, no_value, adapter());
    return list.emit(ops::dropout({dropout, ++site, B * T}, true), {t, x}, name + ".residual")[0];
  };
  const bool packed = windows.positions != no_value;
  std::vector<ValueId> looked_up = {windows.tokens, wte_, wpe_};
  if (packed) looked_up.push_back(windows.positions);
  ValueId x = dropped(list.emit(ops::embedding(), looked_up, "embedding")[0], "embedding.dropout");
  for (size_t l = 0; l < blocks_.size(); ++l) {
    const Block& b = blocks_[l];
    const List::BlockScope scope(list, static_cast<int>(l));
    const std::string h = fmt::format("h.{}.", l);
    const ValueId y = list.emit(ops::layernorm(), {x, b.ln1_gain, b.ln1_bias}, h + "ln_1")[0];
    const ValueId qkv = project(list, b.attn, y, h + "qkv", no_value, adapter());
    const ops::AttentionOptions attention{
        .B = B, .T = T, .heads = spec_.heads, .dropout = {dropout, ++site, B * T}};
    std::vector<ValueId> seen = thirds(qkv, h);
    if (packed) seen.push_back(windows.positions);
    const ValueId a = list.emit(ops::attention(attention), seen, h + "attention")[0];
    x = residual(a, b.proj, x, h + "attention.proj");
    const ValueId z = list.emit(ops::layernorm(), {x, b.ln2_gain, b.ln2_bias}, h + "ln_2")[0];
    const ValueId f = project(list, b.fc, z, h + "fc", no_value, adapter());
    const ValueId g = list.emit(ops::gelu(), {f}, h + "gelu")[0];
    x = residual(g, b.fc_proj, x, h + "mlp.proj");
  }
  return list.emit(ops::layernorm(), {x, ln_gain_, ln_bias_}, "ln_f")[0];
}

ValueId Gpt::hidden_cached(List& list, const OneToken& token) const {
  Graph& graph = list.graph();
  ValueId x = list.emit(ops::embedding_at(), {token.token, wte_, wpe_}, "g.embedding")[0];
  for (size_t l = 0; l < blocks_.size(); ++l) {
    const Block& b = blocks_[l];
    const List::BlockScope scope(list, static_cast<int>(l));
    const std::string h = fmt::format("g.{}.", l);
    const ValueId y = list.emit(ops::layernorm(), {x, b.ln1_gain, b.ln1_bias}, h + "ln_1")[0];
    const ValueId qkv = project(list, b.attn, y, h + "qkv");
    const Type row{{1, spec_.dim}}, cache{{spec_.context, spec_.dim}};
    const ValueId a = graph.value(h + "attention", row, Role::activation);
    const ValueId keys = graph.value(h + "keys", cache, Role::activation, Keep::list);
    const ValueId values = graph.value(h + "values", cache, Role::activation, Keep::list);
    list.emit_into(ops::attention_cached(spec_.context, spec_.heads), thirds(qkv, h), {a, keys, values},
                   h + "attention");
    x = project(list, b.proj, a, h + "attention.proj", x);
    const ValueId z = list.emit(ops::layernorm(), {x, b.ln2_gain, b.ln2_bias}, h + "ln_2")[0];
    const ValueId f = project(list, b.fc, z, h + "fc");
    const ValueId g = list.emit(ops::gelu(), {f}, h + "gelu")[0];
    x = project(list, b.fc_proj, g, h + "mlp.proj", x);
  }
  return list.emit(ops::layernorm(), {x, ln_gain_, ln_bias_}, "g.ln_f")[0];
}

ValueId Gpt::logits(List& list, ValueId hidden, const std::string& name) const {
  std::vector<ValueId> in = {hidden, spec_.tied ? wte_ : head_};
  if (spec_.head_bias) in.push_back(head_bias_);
  return list.emit(ops::linear({.transposed = true, .bias = spec_.head_bias}), in, name)[0];
}

}  // namespace

std::unique_ptr<Model> make_gpt(Graph& graph, const ModelSpec& spec) {
  return std::make_unique<Gpt>(graph, spec);
}

}  // namespace plimsoll
