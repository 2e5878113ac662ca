#include "train/model_spec.hpp"

#include "model/families.hpp"
#include "model/idefics3.hpp"
#include "train/own_vision.hpp"

namespace plimsoll {
namespace {

using Trained = Tuning::What;

Tuning tuning_of(const Settings& s, Trained what, bool stream = false) {
  return {.context = s.context,
          .what = what,
          .last_blocks = s.train_last,
          .rank = s.lora_rank,
          .alpha = s.adapter_alpha(),
          .stream = stream,
          .targets = s.lora_targets,
          .parts = what == Trained::nothing ? std::vector<std::string>{} : trained_parts(s.train_parts)};
}

}  // namespace

Tuning tuning(const Settings& s, bool stream) {
  return tuning_of(s,
                   s.lora_rank > 0    ? Trained::adapters
                   : s.train_last > 0 ? Trained::last_blocks
                                      : Trained::everything,
                   stream);
}

ModelSpec model_spec(const Settings& s, int vocab, bool stream) {
  if (!s.model.empty()) {
    const auto model = open_pretrained(s.model);
    ModelSpec spec = adapted(*model, tuning(s, stream));
    if (s.lora_dropout > 0 && spec.lora)
      for (const std::string& module : adaptable_modules(*model))
        if (vision_part(module) == "tower" && spec.lora->targets(module))
          fail_input(
              "lora_dropout: adapters in the tower have none; leave it out, or leave the tower out of "
              "--lora-targets");
    return spec;
  }
  if (!s.vision.empty()) return own_vision_spec(s, vocab);
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

ModelSpec as_published(const Settings& s, bool stream) {
  return adapted(*open_pretrained(s.model), tuning_of(s, Trained::nothing, stream));
}

std::optional<PictureTokens> picture_tokens(const Settings& s) {
  std::optional<PictureTokens> tokens;
  if (!s.vision.empty())
    tokens = own_vision_pictures(s);
  else if (!s.model.empty())
    tokens = open_pretrained(s.model)->config.pictures;
  if (tokens) tokens->settings.draft = s.image_draft;
  return tokens;
}

bool can_stream(const Settings& s) {
  return !s.model.empty() && (s.lora_rank > 0 || s.train_last > 0) && s.stream != "off";
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
