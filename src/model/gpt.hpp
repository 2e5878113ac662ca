// A GPT-2 transformer as nodes: learned positions, pre-norm blocks, GELU, tied or untied head. Parameter names and
// layouts are those of the published GPT-2 files, so a saved model opens elsewhere.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.hpp"

namespace plimsoll {

struct GptShape {
  int64_t layers = 2, heads = 4, dim = 128, ff = 512, context = 64, vocab = 35;
  bool tied = false, head_bias = true;
  int64_t positions = 0;  // rows of the position table; 0: as many as context
};

struct Parameter {
  ValueId id;
  bool matrix;   // decays
  float spread;  // standard deviation at the start; 0 for biases, -1 for gains (ones)
};

class Gpt {
 public:
  // Creates the parameters in `graph`.
  Gpt(Graph& graph, const GptShape& shape);

  // The final hidden state [B T, C] for tokens [B, T+1].
  ValueId hidden(List& list, ValueId tokens, int64_t B, int64_t T, float dropout) const;
  // The same for one token at Moment::position, with keys and values cached.
  ValueId hidden_cached(List& list, ValueId token) const;
  // Logits [rows, V] of hidden states.
  ValueId logits(List& list, ValueId hidden, const std::string& name) const;

  const std::vector<Parameter>& parameters() const { return parameters_; }
  const GptShape& shape() const { return shape_; }
  ValueId head() const { return shape_.tied ? wte_ : head_; }
  ValueId head_bias() const { return head_bias_; }
  uint64_t count() const;  // numbers in all parameters

 private:
  struct Block {
    ValueId ln1_gain, ln1_bias, attn, attn_bias, proj, proj_bias, ln2_gain, ln2_bias, fc, fc_bias, fc_proj,
        fc_proj_bias;
  };
  ValueId add(Graph& graph, std::string name, Type type, float spread);

  GptShape shape_;
  std::vector<Parameter> parameters_;
  std::vector<Block> blocks_;
  ValueId wte_, wpe_, ln_gain_, ln_bias_, head_ = no_value, head_bias_ = no_value;
};

// The starting value of element `index` of a parameter: a pure function of the seed, so no order of filling matters.
void initialise(const Graph& graph, const Parameter& parameter, uint64_t seed, float* data, int64_t first,
                int64_t count);

}  // namespace plimsoll
