// Llama and its relatives Qwen2 and Qwen3: RMSNorm, rotary positions, grouped heads, SwiGLU. They differ in details alone:
// which products have a bias, and whether queries and keys are normalized. Names and layouts are those of published files.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "model/model.hpp"

namespace plimsoll {

// How rotary positions are stretched beyond the context a model was first trained for.
struct RotaryScaling {
  enum class Kind : uint8_t { none, linear, llama3 } kind = Kind::none;
  double factor = 1;
  double low_factor = 1, high_factor = 4, original_context = 8192;  // llama3
  bool operator==(const RotaryScaling&) const = default;
};
// The angle by which each pair of a head's elements turns from one position to the next: head_dim / 2 of them.
std::vector<float> rotary_frequencies(int64_t head_dim, double theta, const RotaryScaling& scaling = {});

struct LlamaDetails : ModelDetails {
  int64_t head_dim = 0;  // 0: dim / heads
  float epsilon = 1e-6f;
  double theta = 10000;
  RotaryScaling scaling;
  bool qkv_bias = false, out_bias = false, mlp_bias = false;
  bool qk_norms = false;
  std::string prefix = "model.";  // of the names of parameters
  int32_t picture_token = -1;     // in whose place features stand
};

// Without details in the spec, those above.
std::unique_ptr<Model> make_llama(Graph& graph, const ModelSpec& spec);

}  // namespace plimsoll
