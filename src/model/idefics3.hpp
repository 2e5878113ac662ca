// Idefics3 and SmolVLM: a SigLIP tower looks at square tiles, squares of neighbouring patches are joined and projected to the
// width of a Llama, and stand there in the place of a token. Names and layouts are those of published files.
#pragma once
#include <array>
#include <memory>
#include <string_view>

#include "model/llama.hpp"

namespace plimsoll {

// Of the language model, and:
struct Idefics3Details : LlamaDetails {
  int64_t tile = 32, patch = 8,
          joined = 2;  // pixels of a tile's and a patch's edge, patches of an edge that are joined
  int64_t tower_layers = 2, tower_heads = 4, tower_dim = 64, tower_ff = 256;
  float tower_epsilon = 1e-6f;
  float spread = 0.02f;       // at the start, of the tower's and the connector's matrices
  double rescale = 1. / 255;  // of bytes, before mean and deviation
  std::array<float, 3> mean{0.5f, 0.5f, 0.5f}, deviation{0.5f, 0.5f, 0.5f};

  int64_t side() const { return tile / patch; }                         // patches
  int64_t rows() const { return side() * side() / (joined * joined); }  // tokens of a tile
};

// The part a parameter or module belongs to: "tower", "connector" or "text".
std::string_view vision_part(std::string_view name);

std::unique_ptr<Model> make_idefics3(Graph& graph, const ModelSpec& spec);

}  // namespace plimsoll
