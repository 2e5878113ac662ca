#include "model/model.hpp"

#include <cmath>
#include <numbers>

#include "base/random.hpp"
#include "graph/fetch.hpp"
#include "graph/ops.hpp"
#include "tensor/half.hpp"

namespace plimsoll {

ValueId Model::add(std::string name, Shape shape, Parameter::Kind kind, float spread, int block) {
  const Storage storage = spec_.storage ? spec_.storage(name, block) : Storage{};
  if (!is_floating(storage.dtype) || (storage.dtype != DType::f32 && !storage.frozen))
    fail("[model] {} is to be {}; a trained parameter is f32, a frozen one f32, bf16 or f16", name,
         name_of(storage.dtype));
  const bool fetched = storage.piece >= 0;
  const ValueId id = graph_.value(std::move(name), {shape, storage.dtype}, Role::parameter,
                                  fetched ? Keep::touched : Keep::forever);
  if (storage.frozen) graph_.freeze(id);
  parameters_.push_back({id, kind, block, storage.frozen, storage.given, fetched, spread});
  return id;
}

Model::Projection Model::add_projection(const std::string& module, int64_t in, int64_t out,
                                        ProjectionOptions options) {
  using enum Parameter::Kind;
  Projection p{.transposed = options.transposed};
  p.weight = add(module + ".weight", options.transposed ? Shape{out, in} : Shape{in, out}, matrix,
                 options.spread, options.block);
  if (parameters_.back().fetched) p.piece = spec_.storage(module + ".weight", options.block).piece;
  if (options.bias) p.bias = add(module + ".bias", {out}, bias, 0, options.block);
  if (!spec_.lora || !spec_.lora->targets(module)) return p;
  // B starts at zero, so that the adapted model starts as the model.
  const int64_t rank = spec_.lora->rank;
  p.lora_a = add(module + ".lora_A.weight", {rank, in}, matrix, 1 / std::sqrt(3 * static_cast<float>(in)),
                 options.block);
  p.lora_b = add(module + ".lora_B.weight", {out, rank}, matrix, 0, options.block);
  return p;
}

ValueId Model::project(List& list, const Projection& p, ValueId x, const std::string& name, ValueId addend,
                       AdapterDropout dropout) const {
  const ValueId weight =
      p.piece < 0 ? p.weight
                  : emit_fetch(list, spec_.source, p.piece, graph_[p.weight].type, name + ".weight");
  std::vector<ValueId> in = {x, weight};
  if (p.bias != no_value) in.push_back(p.bias);
  if (addend != no_value) in.push_back(addend);
  const ops::Linear options{
      .transposed = p.transposed, .bias = p.bias != no_value, .addend = addend != no_value};
  const ValueId y = list.emit(ops::linear(options), in, name)[0];
  if (p.lora_a == no_value) return y;
  if (dropout.rate > 0)
    x = list.emit(ops::dropout({dropout.rate, dropout.site, dropout.rows}, false), {x},
                  name + ".lora_dropout")[0];
  const ValueId low =
      list.emit(ops::linear({.transposed = true, .bias = false}), {x, p.lora_a}, name + ".lora_A")[0];
  const ValueId scaled = list.emit(ops::scale(spec_.lora->scale), {low}, name + ".lora_scale")[0];
  return list.emit(ops::linear({.transposed = true, .bias = false, .addend = true, .in_place = true}),
                   {scaled, p.lora_b, y}, name + ".lora_B")[0];
}

uint64_t Model::count() const {
  uint64_t sum = 0;
  for (const Parameter& p : parameters_) sum += static_cast<uint64_t>(graph_[p.id].type.elements());
  return sum;
}

void initialise(const Graph& graph, const Parameter& parameter, uint64_t seed, void* data, int64_t first,
                int64_t count) {
  const DType dtype = graph[parameter.id].type.dtype;
  uint64_t stream = seed;
  for (char c : graph[parameter.id].name) stream = mix64(stream * 131 + static_cast<unsigned char>(c));
  const CounterRng rng(stream, Stream::weights);
  if (!parameter.decays() || parameter.spread == 0) {
    const float value = parameter.kind == Parameter::Kind::gain ? 1.f : 0.f;
    for (int64_t i = first; i < first + count; ++i) narrow(value, data, dtype, i);
    return;
  }
  // Box-Muller: the pair (2p, 2p + 1) shares one draw of 64 bits.
  for (int64_t i = first; i < first + count; ++i) {
    const uint64_t bits = rng.bits(static_cast<uint64_t>(i / 2));
    const float u = static_cast<float>((bits >> 40) + 1) * 0x1p-24f,
                v = static_cast<float>(bits & 0xffffff) * 0x1p-24f;
    const float radius = parameter.spread * std::sqrt(-2 * std::log(u)),
                angle = 2 * std::numbers::pi_v<float> * v;
    narrow(radius * (i % 2 ? std::sin(angle) : std::cos(angle)), data, dtype, i);
  }
}

}  // namespace plimsoll
