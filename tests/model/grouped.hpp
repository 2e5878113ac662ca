// A second family, for tests only: grouped-query attention with queries, keys and values from products of their own, no
// positions, no biases, and a head of two products. It shows what a family must say, and that nothing else must know it.
#pragma once
#include <cmath>

#include "graph/ops.hpp"
#include "model/families.hpp"

namespace plimsoll::testing_support {

class Grouped final : public Model {
 public:
  Grouped(Graph& graph, const ModelSpec& spec) : Model(graph, spec) {
    using enum Parameter::Kind;
    const int64_t C = spec.dim, D = C / spec.heads;
    wte_ = add("embed", {spec.vocab, C}, embedding, .02f);
    for (int l = 0; l < spec.layers; ++l) {
      const std::string h = fmt::format("layers.{}.", l);
      blocks_.push_back(
          {add(h + "norm.gain", {C}, gain, 0, l), add(h + "norm.bias", {C}, bias, 0, l),
           add(h + "q", {C, C}, matrix, .05f, l), add(h + "k", {C, D * spec.kv_heads}, matrix, .05f, l),
           add(h + "v", {C, D * spec.kv_heads}, matrix, .05f, l), add(h + "out", {C, C}, matrix, .05f, l)});
    }
    norm_gain_ = add("norm.gain", {C}, gain);
    norm_bias_ = add("norm.bias", {C}, bias);
    narrow_ = add("head.a", {C, 8}, matrix, .1f);
    wide_ = add("head.b", {spec.vocab, 8}, matrix, .1f);
  }
  ValueId hidden(List& list, const Windows& w) const override {
    const ValueId x = list.emit(ops::embedding(), {w.tokens, wte_}, "embedding")[0];
    return body(list, x, [&](const std::vector<ValueId>& qkv, const std::string& name) {
      return list.emit(ops::attention({.B = w.B, .T = w.T, .heads = spec_.heads, .kv_heads = spec_.kv_heads}),
                       qkv, name)[0];
    });
  }
  ValueId hidden_cached(List& list, const OneToken& token) const override {
    const ValueId x = list.emit(ops::embedding_at(), {token.token, wte_}, "g.embedding")[0];
    const Type cache{{spec_.context, spec_.dim / spec_.heads * spec_.kv_heads}};
    return body(list, x, [&](const std::vector<ValueId>& qkv, const std::string& name) {
      const ValueId out = graph_.value("g." + name, {{1, spec_.dim}}, Role::activation),
                    keys = graph_.value("g." + name + ".keys", cache, Role::activation, Keep::list),
                    values = graph_.value("g." + name + ".values", cache, Role::activation, Keep::list);
      list.emit_into(ops::attention_cached(spec_.context, spec_.heads, spec_.kv_heads), qkv,
                     {out, keys, values}, name);
      return out;
    });
  }
  ValueId logits(List& list, ValueId hidden, const std::string& name) const override {
    const ValueId low = list.emit(ops::linear({.bias = false}), {hidden, narrow_}, name + ".low")[0];
    return list.emit(ops::linear({.transposed = true, .bias = false}), {low, wide_}, name)[0];
  }

 private:
  struct Block {
    ValueId gain, bias, q, k, v, out;
  };
  template <typename Attend>
  ValueId body(List& list, ValueId x, Attend attend) const {
    const auto product = ops::linear({.bias = false});
    for (size_t l = 0; l < blocks_.size(); ++l) {
      const Block& b = blocks_[l];
      const List::BlockScope scope(list, int(l));
      const std::string h = fmt::format("layer.{}.", l);
      const ValueId y = list.emit(ops::layernorm(), {x, b.gain, b.bias}, h + "norm")[0];
      const std::vector<ValueId> qkv = {list.emit(product, {y, b.q}, h + "q")[0],
                                        list.emit(product, {y, b.k}, h + "k")[0],
                                        list.emit(product, {y, b.v}, h + "v")[0]};
      const ValueId a = attend(qkv, h + "attention");
      x = list.emit(ops::linear({.bias = false, .addend = true}), {a, b.out, x}, h + "out")[0];
    }
    return list.emit(ops::layernorm(), {x, norm_gain_, norm_bias_}, "norm")[0];
  }
  std::vector<Block> blocks_;
  ValueId wte_, norm_gain_, norm_bias_, narrow_, wide_;
};

inline ModelSpec grouped_spec() {
  register_family({"grouped", [](Graph& graph, const ModelSpec& spec) -> std::unique_ptr<Model> {
                     return std::make_unique<Grouped>(graph, spec);
                   }});
  return {.family = "grouped", .layers = 3, .heads = 6, .kv_heads = 2, .dim = 36, .context = 29, .vocab = 41};
}

}  // namespace plimsoll::testing_support
