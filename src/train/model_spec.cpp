#include "train/model_spec.hpp"

#include "model/families.hpp"

namespace plimsoll {

ModelSpec model_spec(const Settings& s, int vocab) {
  return {.layers = s.layers,
          .heads = s.heads,
          .dim = s.dim,
          .ff = s.ff,
          .context = s.context,
          .vocab = vocab,
          .tied = s.tied,
          .head_bias = s.head_bias,
          .positions = s.positions};
}

uint64_t parameters(const Settings& settings, int vocab) {
  return parameter_count(model_spec(settings, vocab));
}

}  // namespace plimsoll
