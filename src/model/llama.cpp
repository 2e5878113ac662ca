#include "model/llama.hpp"

#include <cmath>
#include <numbers>

#include "graph/ops.hpp"

namespace plimsoll {
namespace {

class Llama final : public Model {
 public:
  Llama(Graph& graph, const ModelSpec& spec);
  ValueId hidden(List& list, const Windows& windows) const override;
  ValueId logits(List& list, ValueId hidden, const std::string& name) const override;
  ValueId hidden_cached(List& list, const OneToken& token) const override;

 private:
  struct Block {
    ValueId before_attention, before_mlp, q_norm = no_value, k_norm = no_value;
    Projection q, k, v, out, gate, up, down;
  };
  // The blocks and the final norm over x; `attend` makes a block's attention of {queries, keys, values}, `dropout` the next
  // adapter's.
  template <typename Attend, typename Dropout>
  ValueId body(List& list, ValueId x, ValueId angles, const char* prefix, Attend attend,
               Dropout dropout) const;

  LlamaDetails details_;
  std::vector<float> frequencies_;
  std::vector<Block> blocks_;
  ValueId embedding_, norm_, head_ = no_value;
};

Llama::Llama(Graph& graph, const ModelSpec& spec) : Model(graph, spec) {
  if (spec.kv_heads == 0) spec_.kv_heads = spec.heads;
  if (const auto* details = spec.details_as<LlamaDetails>()) details_ = *details;
  const ModelSpec& s = spec_;
  if (details_.head_dim == 0) {
    if (s.dim % s.heads) fail_input("[{}] dim {} is not divisible by {} heads", s.family, s.dim, s.heads);
    details_.head_dim = s.dim / s.heads;
  }
  if (s.heads % s.kv_heads)
    fail_input("[{}] {} heads are not divisible by {} of keys and values", s.family, s.heads, s.kv_heads);
  if (details_.head_dim % 2)
    fail_input("[{}] heads of {} elements cannot be turned in pairs", s.family, details_.head_dim);
  frequencies_ = rotary_frequencies(details_.head_dim, details_.theta, details_.scaling);
  using enum Parameter::Kind;
  const float spread = 0.02f;
  const int64_t queries = s.heads * details_.head_dim, keys = s.kv_heads * details_.head_dim;
  embedding_ = add(details_.prefix + "embed_tokens.weight", {s.vocab, s.dim}, embedding, spread);
  for (int l = 0; l < s.layers; ++l) {
    const std::string h = fmt::format("{}layers.{}.", details_.prefix, l);
    auto product = [&](const char* name, int64_t in, int64_t out, bool with_bias) {
      return add_projection(h + name, in, out,
                            {.transposed = true, .bias = with_bias, .spread = spread, .block = l});
    };
    Block b{};
    b.before_attention = add(h + "input_layernorm.weight", {s.dim}, gain, 0, l);
    b.q = product("self_attn.q_proj", s.dim, queries, details_.qkv_bias);
    b.k = product("self_attn.k_proj", s.dim, keys, details_.qkv_bias);
    b.v = product("self_attn.v_proj", s.dim, keys, details_.qkv_bias);
    b.out = product("self_attn.o_proj", queries, s.dim, details_.out_bias);
    if (details_.qk_norms) {
      b.q_norm = add(h + "self_attn.q_norm.weight", {details_.head_dim}, gain, 0, l);
      b.k_norm = add(h + "self_attn.k_norm.weight", {details_.head_dim}, gain, 0, l);
    }
    b.before_mlp = add(h + "post_attention_layernorm.weight", {s.dim}, gain, 0, l);
    b.gate = product("mlp.gate_proj", s.dim, s.ff, details_.mlp_bias);
    b.up = product("mlp.up_proj", s.dim, s.ff, details_.mlp_bias);
    b.down = product("mlp.down_proj", s.ff, s.dim, details_.mlp_bias);
    blocks_.push_back(b);
  }
  norm_ = add(details_.prefix + "norm.weight", {s.dim}, gain);
  if (!s.tied) head_ = add("lm_head.weight", {s.vocab, s.dim}, matrix, spread);
}

template <typename Attend, typename Dropout>
ValueId Llama::body(List& list, ValueId x, ValueId angles, const char* prefix, Attend attend,
                    Dropout dropout) const {
  const auto norm = ops::rmsnorm(details_.epsilon);
  for (size_t l = 0; l < blocks_.size(); ++l) {
    const Block& b = blocks_[l];
    const List::BlockScope scope(list, static_cast<int>(l));
    const std::string h = fmt::format("{}.{}.", prefix, l);
    const ValueId y = list.emit(norm, {x, b.before_attention}, h + "norm_1")[0];
    // Queries and keys: normalized where the family does, then turned.
    auto turned = [&](const Projection& p, ValueId gain, const std::string& name) {
      ValueId t = project(list, p, y, name, no_value, dropout());
      if (gain != no_value) t = list.emit(norm, {t, gain}, name + ".norm")[0];
      return list.emit(ops::rotary(), {t, angles}, name + ".rotary")[0];
    };
    const ValueId q = turned(b.q, b.q_norm, h + "q"), k = turned(b.k, b.k_norm, h + "k"),
                  v = project(list, b.v, y, h + "v", no_value, dropout());
    x = project(list, b.out, attend({q, k, v}, h), h + "attention.out", x, dropout());
    const ValueId z = list.emit(norm, {x, b.before_mlp}, h + "norm_2")[0];
    const ValueId gate = project(list, b.gate, z, h + "gate", no_value, dropout()),
                  up = project(list, b.up, z, h + "up", no_value, dropout());
    const ValueId g = list.emit(ops::swiglu(), {gate, up}, h + "swiglu")[0];
    x = project(list, b.down, g, h + "mlp.down", x, dropout());
  }
  return list.emit(norm, {x, norm_}, std::string(prefix) + ".norm")[0];
}

ValueId Llama::hidden(List& list, const Windows& windows) const {
  const int64_t B = windows.B, T = windows.T;
  const bool packed = windows.positions != no_value;
  uint32_t site = 0;
  ValueId x = list.emit(ops::embedding(), {windows.tokens, embedding_}, "embedding")[0];
  if (windows.features != no_value)
    x = list.emit(ops::place_rows(details_.picture_token), {x, windows.tokens, windows.features},
                  "pictures")[0];
  const ValueId angles =
      packed ? list.emit(ops::rotary_angles(B * T, frequencies_), {windows.positions}, "angles")[0]
             : list.emit(ops::rotary_angles(T, frequencies_), {}, "angles")[0];
  auto attend = [&](std::vector<ValueId> in, const std::string& h) {
    if (packed) in.push_back(windows.positions);
    const ops::AttentionOptions options{.B = B,
                                        .T = T,
                                        .heads = spec_.heads,
                                        .kv_heads = spec_.kv_heads,
                                        .dropout = {windows.dropout, ++site, B * T}};
    return list.emit(ops::attention(options), in, h + "attention")[0];
  };
  auto dropout = [&]() -> AdapterDropout {
    return windows.lora_dropout > 0 ? AdapterDropout{windows.lora_dropout, ++site, B * T} : AdapterDropout{};
  };
  return body(list, x, angles, "h", attend, dropout);
}

ValueId Llama::hidden_cached(List& list, const OneToken& token) const {
  const int64_t D = details_.head_dim;
  ValueId x = list.emit(ops::embedding_at(), {token.token, embedding_}, "g.embedding")[0];
  if (token.features != no_value)
    x = list.emit(ops::place_row_at(), {x, token.row, token.features}, "g.pictures")[0];
  const ValueId angles = list.emit(ops::rotary_angles_at(frequencies_), {}, "g.angles")[0];
  auto attend = [&](const std::vector<ValueId>& in, const std::string& h) {
    const Type row{{1, spec_.heads * D}}, cache{{spec_.context, spec_.kv_heads * D}};
    const ValueId a = graph_.value(h + "attention", row, Role::activation);
    const ValueId keys = graph_.value(h + "keys", cache, Role::activation, Keep::list);
    const ValueId values = graph_.value(h + "values", cache, Role::activation, Keep::list);
    list.emit_into(ops::attention_cached(spec_.context, spec_.heads, spec_.kv_heads), in, {a, keys, values},
                   h + "attention");
    return a;
  };
  return body(list, x, angles, "g", attend, [] { return AdapterDropout{}; });
}

ValueId Llama::logits(List& list, ValueId hidden, const std::string& name) const {
  return list.emit(ops::linear({.transposed = true, .bias = false}),
                   {hidden, spec_.tied ? embedding_ : head_}, name)[0];
}

}  // namespace

// In f32 where the models' own programs are: positions far out make the rounding of a frequency visible.
std::vector<float> rotary_frequencies(int64_t head_dim, double theta, const RotaryScaling& scaling) {
  std::vector<float> out;
  for (int64_t i = 0; i < head_dim; i += 2) {
    const float exponent = static_cast<float>(i) / static_cast<float>(head_dim);
    float frequency = 1.f / std::pow(static_cast<float>(theta), exponent);
    if (scaling.kind == RotaryScaling::Kind::linear) frequency /= static_cast<float>(scaling.factor);
    if (scaling.kind == RotaryScaling::Kind::llama3) {
      // Short waves stay, long ones are stretched, those between are interpolated.
      const double turns = scaling.original_context * double(frequency) / (2 * std::numbers::pi);
      const double stretched = frequency / scaling.factor;
      const double smooth = (turns - scaling.low_factor) / (scaling.high_factor - scaling.low_factor);
      if (turns < scaling.low_factor)
        frequency = static_cast<float>(stretched);
      else if (turns <= scaling.high_factor)
        frequency = static_cast<float>((1 - smooth) * stretched + smooth * frequency);
    }
    out.push_back(frequency);
  }
  return out;
}

std::unique_ptr<Model> make_llama(Graph& graph, const ModelSpec& spec) {
  return std::make_unique<Llama>(graph, spec);
}

}  // namespace plimsoll
