// The interface of a family of models: parameters in a graph, and the nodes of a forward pass, of logits, and of
// one token of generation. Everything else (loss, backward pass, optimizer, memory) is derived from those nodes.
//
//   Graph graph;
//   auto model = make_model(graph, {.family = "gpt2", .layers = 2});   // families.hpp
//   ValueId h = model->hidden(list, {tokens, B, T});                    // [B T, C]
//   ValueId y = model->logits(list, h, "logits");                       // [B T, V]
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.hpp"
#include "model/spec.hpp"

namespace plimsoll {

struct Parameter {
  // What it is in the model: embeddings and matrices decay and start from a normal distribution, biases start at zero
  // and gains at one.
  enum class Kind : uint8_t { embedding, matrix, bias, gain };

  ValueId id;  // its name, shape and dtype are the value's
  Kind kind = Kind::matrix;
  int block = no_block;
  bool frozen = false;
  bool given = false;    // its starting value comes from a file
  bool fetched = false;  // it has no memory of its own
  float spread = 0;      // standard deviation at the start of embeddings and matrices

  bool decays() const { return kind == Kind::embedding || kind == Kind::matrix; }
};

// What dropout before adapters needs: each place in the model has its own mask.
struct AdapterDropout {
  float rate = 0;
  uint32_t site = 0;
  int64_t rows = 0;
};

class Model {
 public:
  virtual ~Model() = default;

  // Rows of tokens: each has T inputs and the target of the last.
  struct Windows {
    ValueId tokens;  // [B, T+1] i32
    int64_t B, T;
    float dropout = 0;
    float lora_dropout = 0;  // of what adapters see
    ValueId positions =
        no_value;  // [B, T] i32: of each token in its own sample; none: every row is one sample
    ValueId features =
        no_value;  // of tiles, as connect() makes them: they stand in the place of the vision's token
  };
  // The final hidden states [B T, C]. Nodes of a block are emitted in a List::BlockScope of its number.
  virtual ValueId hidden(List& list, const Windows& windows) const = 0;
  // Logits [rows, V] of hidden states [rows, C].
  virtual ValueId logits(List& list, ValueId hidden, const std::string& name) const = 0;
  // A token [1] at Moment::position; where `row` [1] i32 is not -1, that row of `features` stands in its place.
  struct OneToken {
    ValueId token;
    ValueId features = no_value, row = no_value;
  };
  // The hidden state [1, C] of one token. What it remembers of earlier positions lies in values of its own making, kept with
  // Keep::list.
  virtual ValueId hidden_cached(List& list, const OneToken& token) const = 0;

  // What a model that looks at pictures makes of them.
  struct Vision {
    int64_t tile;                   // pixels of an edge
    int64_t rows;                   // of features, and so tokens, that a tile becomes
    int64_t seen_rows, seen_width;  // of what see() makes of a tile
    int32_t token;                  // in whose place features stand
    bool trained;                   // see() has something to learn: it is part of every step
  };
  virtual std::optional<Vision> vision() const { return std::nullopt; }
  // The tower, and what follows it as long as nothing there is trained: pixels [S, tile tile 3] u8 -> [S seen_rows, seen_width].
  virtual ValueId see(List&, ValueId /*pixels*/) const {
    fail("[model] {} looks at no pictures", spec_.family);
  }
  // What follows: [S seen_rows, seen_width] -> features [S rows, C].
  virtual ValueId connect(List&, ValueId /*seen*/) const {
    fail("[model] {} looks at no pictures", spec_.family);
  }

  // In the order they are saved in.
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const ModelSpec& spec() const { return spec_; }
  virtual int blocks() const { return static_cast<int>(spec_.layers); }
  uint64_t count() const;  // numbers in all parameters

 protected:
  Model(Graph& graph, const ModelSpec& spec) : graph_(graph), spec_(spec) {}
  // Creates a parameter as the spec's storage says.
  ValueId add(std::string name, Shape shape, Parameter::Kind kind, float spread = 0, int block = no_block);

  // The parameters of a part that is a model of its own follow.
  void adopt(const Model& part) {
    parameters_.insert(parameters_.end(), part.parameters_.begin(), part.parameters_.end());
  }

  // A matrix with its bias and its adapter, where it has them.
  struct Projection {
    ValueId weight = no_value, bias = no_value, lora_a = no_value, lora_b = no_value;
    bool transposed = false;
    int64_t piece = -1;  // of the spec's source, where the weight is fetched
  };
  struct ProjectionOptions {
    bool transposed = false, bias = true;  // transposed: stored as [out, in]
    float spread = 0.02f;
    int block = no_block;
  };
  // Creates `module`.weight, .bias, and .lora_A.weight and .lora_B.weight where the spec's adapters have it as a target.
  Projection add_projection(const std::string& module, int64_t in, int64_t out, ProjectionOptions options);
  // x W + bias [+ addend] [+ what the adapter adds].
  ValueId project(List& list, const Projection& projection, ValueId x, const std::string& name,
                  ValueId addend = no_value, AdapterDropout dropout = {}) const;

  Graph& graph_;
  ModelSpec spec_;

 private:
  std::vector<Parameter> parameters_;
};

// The starting value of elements [first, first + count) of a parameter whose bytes are at `data`, in its dtype: a pure
// function of the seed, so no order of filling matters.
void initialise(const Graph& graph, const Parameter& parameter, uint64_t seed, void* data, int64_t first,
                int64_t count);

}  // namespace plimsoll
