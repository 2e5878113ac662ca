// GPT-2: learned positions, LayerNorm before attention and feed-forward, GELU, a tied or untied head. Parameter names and
// layouts are those of the published GPT-2 files, so a saved model opens elsewhere.
#pragma once
#include <memory>

#include "model/model.hpp"

namespace plimsoll {

std::unique_ptr<Model> make_gpt(Graph& graph, const ModelSpec& spec);

}  // namespace plimsoll
