#include "model/idefics3.hpp"

#include "graph/ops.hpp"

namespace plimsoll {
namespace {

class Idefics3 final : public Model {
 public:
  Idefics3(Graph& graph, const ModelSpec& spec);
  ValueId hidden(List& list, const Windows& windows) const override { return text_->hidden(list, windows); }
  ValueId logits(List& list, ValueId hidden, const std::string& name) const override {
    return text_->logits(list, hidden, name);
  }
  ValueId hidden_cached(List& list, const OneToken& token) const override {
    return text_->hidden_cached(list, token);
  }
  std::optional<Vision> vision() const override;
  ValueId see(List& list, ValueId pixels) const override;
  ValueId connect(List& list, ValueId seen) const override {
    return connector_trained_ ? joined(list, seen) : seen;
  }

 private:
  struct TowerBlock {
    ValueId gain_1, bias_1, gain_2, bias_2;
    Projection q, k, v, out, fc1, fc2;
  };
  void add_tower();
  ValueId joined(List& list, ValueId seen) const;

  Idefics3Details details_;
  ValueId patch_weight_, patch_bias_, positions_, gain_, bias_;
  std::vector<TowerBlock> blocks_;
  Projection connector_;
  bool tower_trained_ = false, connector_trained_ = false;
  std::unique_ptr<Model> text_;
};

Idefics3::Idefics3(Graph& graph, const ModelSpec& spec) : Model(graph, spec) {
  if (const auto* details = spec.details_as<Idefics3Details>()) details_ = *details;
  const Idefics3Details& d = details_;
  if (d.tile % d.patch || d.side() % d.joined)
    fail_input("[idefics3] a tile of {} pixels is not cut by patches of {} that are joined by {}", d.tile,
               d.patch, d.joined);
  if (d.tower_dim % d.tower_heads)
    fail_input("[idefics3] the tower's width {} is not divisible by {} heads", d.tower_dim, d.tower_heads);
  add_tower();
  for (const Parameter& p : parameters()) tower_trained_ = tower_trained_ || !p.frozen;
  const size_t before = parameters().size();
  connector_ = add_projection("model.connector.modality_projection.proj", d.tower_dim * d.joined * d.joined,
                              spec.dim, {.transposed = true, .bias = false, .spread = d.spread});
  for (size_t i = before; i < parameters().size(); ++i)
    connector_trained_ = connector_trained_ || !parameters()[i].frozen;
  text_ = make_llama(graph, spec_);
  adopt(*text_);
}

void Idefics3::add_tower() {
  using enum Parameter::Kind;
  const Idefics3Details& d = details_;
  const std::string tower = "model.vision_model.";
  const float spread = d.spread;
  patch_weight_ =
      add(tower + "embeddings.patch_embedding.weight", {d.tower_dim, 3, d.patch, d.patch}, matrix, spread);
  patch_bias_ = add(tower + "embeddings.patch_embedding.bias", {d.tower_dim}, bias);
  positions_ = add(tower + "embeddings.position_embedding.weight", {d.side() * d.side(), d.tower_dim},
                   embedding, spread);
  for (int64_t l = 0; l < d.tower_layers; ++l) {
    const std::string h = fmt::format("{}encoder.layers.{}.", tower, l);
    auto product = [&](const char* name, int64_t in, int64_t out) {
      return add_projection(h + name, in, out, {.transposed = true, .spread = spread});
    };
    TowerBlock b{};
    b.gain_1 = add(h + "layer_norm1.weight", {d.tower_dim}, gain);
    b.bias_1 = add(h + "layer_norm1.bias", {d.tower_dim}, bias);
    b.q = product("self_attn.q_proj", d.tower_dim, d.tower_dim);
    b.k = product("self_attn.k_proj", d.tower_dim, d.tower_dim);
    b.v = product("self_attn.v_proj", d.tower_dim, d.tower_dim);
    b.out = product("self_attn.out_proj", d.tower_dim, d.tower_dim);
    b.gain_2 = add(h + "layer_norm2.weight", {d.tower_dim}, gain);
    b.bias_2 = add(h + "layer_norm2.bias", {d.tower_dim}, bias);
    b.fc1 = product("mlp.fc1", d.tower_dim, d.tower_ff);
    b.fc2 = product("mlp.fc2", d.tower_ff, d.tower_dim);
    blocks_.push_back(b);
  }
  gain_ = add(tower + "post_layernorm.weight", {d.tower_dim}, gain);
  bias_ = add(tower + "post_layernorm.bias", {d.tower_dim}, bias);
}

std::optional<Model::Vision> Idefics3::vision() const {
  const Idefics3Details& d = details_;
  Vision v{.tile = d.tile,
           .rows = d.rows(),
           .seen_rows = d.rows(),
           .seen_width = spec_.dim,
           .token = d.picture_token,
           .trained = tower_trained_};
  if (connector_trained_) v.seen_rows = d.side() * d.side(), v.seen_width = d.tower_dim;
  return v;
}

ValueId Idefics3::joined(List& list, ValueId seen) const {
  const ValueId rows =
      list.emit(ops::join_patches(details_.side(), details_.joined), {seen}, "connector.join")[0];
  return project(list, connector_, rows, "connector");
}

ValueId Idefics3::see(List& list, ValueId pixels) const {
  const Idefics3Details& d = details_;
  const int64_t tiles = graph_[pixels].type.shape[0], positions = d.side() * d.side(),
                width = 3 * d.patch * d.patch;
  const ops::PatchOptions options{d.tile, d.patch, d.rescale, d.mean, d.deviation};
  const ValueId patches = list.emit(ops::patches(options), {pixels}, "tower.patches")[0];
  const ValueId weight = graph_.view(
      patch_weight_, 0, {{d.tower_dim, width}, graph_[patch_weight_].type.dtype}, "tower.patch_weight");
  ValueId x =
      list.emit(ops::linear({.transposed = true}), {patches, weight, patch_bias_}, "tower.embedding")[0];
  x = list.emit(ops::add_table(), {x, positions_}, "tower.positions")[0];
  const auto norm = ops::layernorm(d.tower_epsilon);
  const auto attention =
      ops::attention({.B = tiles, .T = positions, .heads = d.tower_heads, .causal = false});
  for (size_t l = 0; l < blocks_.size(); ++l) {
    const TowerBlock& b = blocks_[l];
    const std::string h = fmt::format("tower.{}.", l);
    const ValueId y = list.emit(norm, {x, b.gain_1, b.bias_1}, h + "norm_1")[0];
    const ValueId q = project(list, b.q, y, h + "q"), k = project(list, b.k, y, h + "k"),
                  v = project(list, b.v, y, h + "v");
    x = project(list, b.out, list.emit(attention, {q, k, v}, h + "attention")[0], h + "attention.out", x);
    const ValueId z = list.emit(norm, {x, b.gain_2, b.bias_2}, h + "norm_2")[0];
    const ValueId g = list.emit(ops::gelu(), {project(list, b.fc1, z, h + "fc1")}, h + "gelu")[0];
    x = project(list, b.fc2, g, h + "fc2", x);
  }
  x = list.emit(norm, {x, gain_, bias_}, "tower.norm")[0];
  return connector_trained_ ? x : joined(list, x);
}

}  // namespace

std::string_view vision_part(std::string_view name) {
  return name.find("vision_model.") != name.npos ? "tower"
         : name.find("connector.") != name.npos  ? "connector"
                                                 : "text";
}

std::unique_ptr<Model> make_idefics3(Graph& graph, const ModelSpec& spec) {
  return std::make_unique<Idefics3>(graph, spec);
}

}  // namespace plimsoll
