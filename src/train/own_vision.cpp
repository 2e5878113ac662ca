#include "train/own_vision.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "data/byte_text.hpp"
#include "model/idefics3.hpp"

namespace plimsoll {
namespace {

Idefics3Details own_details(std::string_view name) {
  if (name != "tiny") fail_input("vision: there is no model '{}' to begin from nothing; give tiny", name);
  Idefics3Details details;
  details.tile = 64, details.patch = 8, details.joined = 2;
  details.tower_layers = 2, details.tower_heads = 4, details.tower_dim = 64, details.tower_ff = 256;
  details.spread =
      0.08f;  // a narrow tower that begins with less hands on too little of what it sees to be learned from
  details.prefix = "model.text_model.";
  details.picture_token = byte_picture_token;
  return details;
}

using nlohmann::ordered_json;

// Of SmolVLM: pictures are parts of a message.
constexpr const char* own_template =
    "<|im_start|>{% for message in messages %}{{message['role'] | capitalize}}{% if "
    "message['content'][0]['type'] == "
    "'image' %}{{':'}}{% else %}{{': '}}{% endif %}{% for line in message['content'] %}{% if line['type'] == "
    "'text' "
    "%}{{line['text']}}{% elif line['type'] == 'image' %}{{ '<image>' }}{% endif %}{% endfor "
    "%}<end_of_utterance>\n"
    "{% endfor %}{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}";

}  // namespace

Settings vision_defaults(std::string_view name) {
  own_details(name);
  Settings s;
  s.vision = name;
  s.tokenizer = "model";
  s.layers = 2, s.heads = 4, s.dim = 64, s.ff = 256;
  s.context = s.positions = 128;
  s.tied = true, s.head_bias = false;
  s.accumulate = 8, s.iterations = 3000;
  s.lr = 1e-3, s.min_lr = 1e-4;
  s.image_samples = 4;
  s.loaders = 0;  // pictures this small take longer to hand over than to decode
  s.eval_every = 100, s.sample_every = 0, s.checkpoint_every = 500;
  return s;
}

ModelSpec own_vision_spec(const Settings& s, int vocab) {
  return {.family = "idefics3",
          .layers = s.layers,
          .heads = s.heads,
          .dim = s.dim,
          .ff = s.ff,
          .context = s.context,
          .vocab = vocab,
          .tied = s.tied,
          .head_bias = false,
          .details = std::make_shared<Idefics3Details>(own_details(s.vision))};
}

PictureTokens own_vision_pictures(const Settings& s) {
  const Idefics3Details details = own_details(s.vision);
  TileSettings settings;
  settings.tile = settings.longest_edge = details.tile;
  settings.split = false;
  return {settings, details.rows(), details.picture_token};
}

std::vector<std::pair<std::string, std::string>> own_vision_files(const Settings& s, int vocab) {
  const Idefics3Details details = own_details(s.vision);
  const ordered_json text = {{"model_type", "llama"},
                             {"vocab_size", vocab},
                             {"hidden_size", s.dim},
                             {"intermediate_size", s.ff},
                             {"num_hidden_layers", s.layers},
                             {"num_attention_heads", s.heads},
                             {"num_key_value_heads", s.heads},
                             {"hidden_act", "silu"},
                             {"max_position_embeddings", s.context},
                             {"rms_norm_eps", details.epsilon},
                             {"rope_theta", details.theta},
                             {"tie_word_embeddings", s.tied}};
  const ordered_json tower = {{"model_type", "idefics3_vision"},
                              {"hidden_size", details.tower_dim},
                              {"intermediate_size", details.tower_ff},
                              {"num_hidden_layers", details.tower_layers},
                              {"num_attention_heads", details.tower_heads},
                              {"num_channels", 3},
                              {"image_size", details.tile},
                              {"patch_size", details.patch},
                              {"hidden_act", "gelu_pytorch_tanh"},
                              {"layer_norm_eps", details.tower_epsilon}};
  const ordered_json config = {{"architectures", {"Idefics3ForConditionalGeneration"}},
                               {"model_type", "idefics3"},
                               {"dtype", "float32"},
                               {"image_token_id", details.picture_token},
                               {"scale_factor", details.joined},
                               {"tie_word_embeddings", s.tied},
                               {"pad_token_id", nullptr},
                               {"text_config", text},
                               {"vision_config", tower}};
  const ordered_json pictures = {{"image_processor_type", "Idefics3ImageProcessor"},
                                 {"do_convert_rgb", true},
                                 {"do_resize", true},
                                 {"size", {{"longest_edge", details.tile}}},
                                 {"resample", 1},
                                 {"do_image_splitting", false},
                                 {"max_image_size", {{"longest_edge", details.tile}}},
                                 {"do_rescale", true},
                                 {"rescale_factor", details.rescale},
                                 {"do_normalize", true},
                                 {"image_mean", details.mean},
                                 {"image_std", details.deviation},
                                 {"do_pad", true}};
  const ordered_json processor = {{"processor_class", "Idefics3Processor"},
                                  {"image_seq_len", details.rows()}};
  const ordered_json tokens = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                               {"eos_token", "<end_of_utterance>"},
                               {"model_max_length", s.context},
                               {"chat_template", own_template}};
  return {{"config.json", config.dump(2) + "\n"},
          {"preprocessor_config.json", pictures.dump(2) + "\n"},
          {"tokenizer_config.json", tokens.dump(2) + "\n"},
          {"processor_config.json", processor.dump(2) + "\n"},
          {"chat_template.jinja", own_template},
          {"tokenizer.json", byte_tokenizer_json()}};
}

}  // namespace plimsoll
