// The description of a model before it exists: its family, its sizes, and how its parameters are stored.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "tensor/type.hpp"

namespace plimsoll {

class Fetcher;

// What only one family knows (the base of its rotary positions, the epsilon of its norms): the family derives from this
// in its own header and reads it back with ModelSpec::details_as.
struct ModelDetails {
  virtual ~ModelDetails() = default;
};

// How one parameter is held. A frozen one has no gradient and no moments and may have any floating-point dtype; a
// trained one is f32.
struct Storage {
  bool frozen = false;
  DType dtype = DType::f32;
  bool given = false;  // its starting value comes from a file
  int64_t piece =
      -1;  // of the spec's source, where it is fetched when it is needed and has no memory of its own
};

// Low-rank adapters beside the matrices whose modules are targets: y = x W + scale (x A) B with A and B trained in f32.
struct Lora {
  int64_t rank = 8;
  float scale = 1;
  std::function<bool(std::string_view module)> targets;  // "model.layers.0.self_attn.q_proj"
};

struct ModelSpec {
  std::string family = "gpt2";
  int64_t layers = 2, heads = 4;
  int64_t kv_heads = 0;  // heads of keys and values, a divisor of `heads`; 0: as many
  int64_t dim = 128, ff = 512, context = 64, vocab = 35;
  bool tied = false, head_bias = true;
  int64_t positions = 0;  // rows of a learned position table; 0: as many as `context`
  std::shared_ptr<const ModelDetails> details = nullptr;
  std::shared_ptr<const Lora> lora = nullptr;
  std::shared_ptr<Fetcher> source = nullptr;  // of parameters that are fetched
  // By parameter name and block (no_block outside of blocks); none: all are trained.
  std::function<Storage(std::string_view name, int block)> storage = nullptr;

  template <typename Details>
  const Details* details_as() const {
    return dynamic_cast<const Details*>(details.get());
  }
};

}  // namespace plimsoll
