#include "train/model_spec.hpp"

#include "model/families.hpp"

namespace plimsoll {
namespace {

using Trained = Tuning::What;

Tuning tuning_of(const Settings& s, Trained what) {
  return {.context = s.context,
          .what = what,
          .last_blocks = s.train_last,
          .rank = s.lora_rank,
          .alpha = s.lora_alpha > 0 ? s.lora_alpha : 2. * s.lora_rank,
          .targets = s.lora_targets};
}

}  // namespace

Tuning tuning(const Settings& s) {
  return tuning_of(s, s.lora_rank > 0    ? Trained::adapters
                      : s.train_last > 0 ? Trained::last_blocks
                                         : Trained::everything);
}

ModelSpec model_spec(const Settings& s, int vocab) {
  if (!s.model.empty()) return adapted(*open_pretrained(s.model), tuning(s));
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

ModelSpec as_published(const Settings& s) {
  return adapted(*open_pretrained(s.model), tuning_of(s, Trained::nothing));
}

void take_sizes_of_model(Settings& s) {
  const ModelSpec& spec = open_pretrained(s.model)->config.spec;
  s.layers = int(spec.layers), s.heads = int(spec.heads), s.dim = int(spec.dim), s.ff = int(spec.ff);
  s.positions = int(spec.context), s.vocab = int(spec.vocab);
  s.tied = spec.tied, s.head_bias = false;
}

uint64_t parameters(const Settings& settings, int vocab) {
  return parameter_count(model_spec(settings, vocab));
}

}  // namespace plimsoll
