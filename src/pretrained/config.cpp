#include "pretrained/config.hpp"

#include <cmath>
#include <optional>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "image/tiles.hpp"
#include "model/idefics3.hpp"

namespace plimsoll {
namespace {

using nlohmann::json;
constexpr uint64_t largest_config = 1'000'000;

// Reads typed values; absent and null are the same.
class Keys {
 public:
  explicit Keys(const json& object) : object_(object) {}

  const json* find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  int64_t size(const char* key, int64_t most, int64_t otherwise = 0) const {
    const json* value = find(key);
    if (!value && otherwise) return otherwise;
    if (!value) fail_input("'{}' is missing", key);
    if (!value->is_number_integer() || value->get<double>() < 1 || value->get<double>() > double(most))
      fail_input("'{}' is {}; expected a whole number from 1 to {}", key, shown(*value), most);
    return value->get<int64_t>();
  }
  double number(const char* key, double otherwise) const {
    const json* value = find(key);
    if (!value) return otherwise;
    if (!value->is_number() || !std::isfinite(value->get<double>()) || value->get<double>() <= 0)
      fail_input("'{}' is {}; expected a number above 0", key, shown(*value));
    return value->get<double>();
  }
  bool flag(const char* key, bool otherwise) const {
    const json* value = find(key);
    if (!value) return otherwise;
    if (!value->is_boolean()) fail_input("'{}' is {}; expected true or false", key, shown(*value));
    return value->get<bool>();
  }
  std::string text(const char* key, const char* otherwise) const {
    const json* value = find(key);
    if (!value) return otherwise;
    if (!value->is_string()) fail_input("'{}' is {}; expected a text", key, shown(*value));
    return value->get<std::string>();
  }
  // A key that changes the computation in a way this program does not know must have the value that leaves it alone.
  void only(const char* key, const json& harmless) const {
    const json* value = find(key);
    if (value && *value != harmless)
      fail_input("'{}' is {}, which is not supported; only {} is", key, shown(*value), harmless.dump());
  }
  void never(const char* key) const {
    if (find(key)) fail_input("'{}' is not supported", key);
  }

  static std::string shown(const json& value) {
    std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
    return text.size() > 60 ? text.substr(0, 60) + "..." : text;
  }

 private:
  const json& object_;
};

constexpr int64_t most_width = 1 << 20, most_vocabulary = 1 << 24, most_layers = 1024,
                  most_positions = 1 << 24;

void check_activation(const Keys& keys, const char* key, const char* usual,
                      std::initializer_list<const char*> known) {
  const std::string named = keys.text(key, usual);
  for (const char* name : known)
    if (named == name) return;
  fail_input("'{}' is {}, which is not supported; only {} is", key, Keys::shown(named), *known.begin());
}

// Numbers that have no usual value are asked for; `original` is the context a model was first made for, where they do not say.
RotaryScaling scaling_of(const Keys& rope, double original, bool overrides) {
  std::string type = rope.text("rope_type", "");
  if (type.empty()) type = rope.text("type", "default");
  RotaryScaling scaling;
  if (type == "default") return scaling;
  if (type != "linear" && type != "llama3")
    fail_input("'rope_type' is {}, which is not supported; default, linear and llama3 are",
               Keys::shown(type));
  scaling.kind = type == "linear" ? RotaryScaling::Kind::linear : RotaryScaling::Kind::llama3;
  const auto given = [&](const char* key) {
    if (!rope.find(key)) fail_input("'{}' is missing, which {} scaling of positions needs", key, type);
    return rope.number(key, 1);
  };
  scaling.factor = given("factor");
  if (type == "linear") return scaling;
  scaling.low_factor = given("low_freq_factor");
  scaling.high_factor = given("high_freq_factor");
  scaling.original_context = overrides ? original : rope.number("original_max_position_embeddings", original);
  if (scaling.high_factor <= scaling.low_factor)
    fail_input("'high_freq_factor' {} is not above 'low_freq_factor' {}", scaling.high_factor,
               scaling.low_factor);
  return scaling;
}

void read_rope(const Keys& keys, int64_t longest, LlamaDetails& details) {
  // As transformers does: this key beside the others wins over the same one among them, and the longest context stands for both.
  constexpr const char* original_key = "original_max_position_embeddings";
  const bool overrides = keys.find(original_key);
  const double original = keys.number(original_key, double(longest)),
               theta = keys.number("rope_theta", 10000);
  details.theta = theta;
  std::optional<RotaryScaling> older;
  for (const char* key : {"rope_scaling", "rope_parameters"})
    if (const json* value = keys.find(key)) {
      if (!value->is_object()) fail_input("'{}' is {}; expected an object", key, Keys::shown(*value));
      const Keys rope(*value);
      const double before = details.theta;
      details.theta = rope.number("rope_theta", theta);
      rope.only("partial_rotary_factor", 1.0);
      details.scaling = scaling_of(rope, original, overrides);
      if (older && (*older != details.scaling || before != details.theta))
        fail_input("'rope_scaling' and 'rope_parameters' scale positions differently; leave one of them");
      older = details.scaling;
    }
}

ModelSpec llama_spec(const Keys& keys, const std::string& family) {
  check_activation(keys, "hidden_act", "silu", {"silu", "swish"});
  keys.only("is_causal", true);
  keys.only("use_sliding_window", false);
  keys.only("pretraining_tp", 1);
  keys.only("rope_interleaved", false);
  keys.only("partial_rotary_factor", 1.0);
  if (const json* layers = keys.find("layer_types"))
    for (const json& type : *layers)
      if (type != "full_attention")
        fail_input("'layer_types' has {}, which is not supported; only full_attention is", Keys::shown(type));
  for (const char* key : {"attn_logit_softcapping", "final_logit_softcapping", "logits_scaling",
                          "residual_multiplier", "embedding_multiplier", "attention_multiplier",
                          "num_experts", "num_local_experts", "no_rope_layers", "clip_qkv"})
    keys.never(key);
  auto details = std::make_shared<LlamaDetails>();
  ModelSpec spec{.family = family};
  spec.layers = keys.size("num_hidden_layers", most_layers);
  spec.heads = keys.size("num_attention_heads", 4096);
  spec.kv_heads = keys.size("num_key_value_heads", 4096, spec.heads);
  spec.dim = keys.size("hidden_size", most_width);
  spec.ff = keys.size("intermediate_size", most_width);
  spec.vocab = keys.size("vocab_size", most_vocabulary);
  spec.context = keys.size("max_position_embeddings", most_positions, 2048);
  spec.tied = keys.flag("tie_word_embeddings", false);
  spec.head_bias = false;
  if (keys.find("head_dim") || family == "qwen3") details->head_dim = keys.size("head_dim", 8192, 128);
  details->epsilon = static_cast<float>(keys.number("rms_norm_eps", 1e-6));
  read_rope(keys, spec.context, *details);
  const bool attention_bias = keys.flag("attention_bias", false);
  details->qkv_bias = family == "qwen2" || attention_bias;
  details->out_bias = family != "qwen2" && attention_bias;
  details->mlp_bias = keys.flag("mlp_bias", false);
  details->qk_norms = family == "qwen3";
  spec.details = details;
  return spec;
}

const json& object_of(const Keys& keys, const char* key) {
  const json* value = keys.find(key);
  if (!value || !value->is_object()) fail_input("'{}' is not an object", key);
  return *value;
}

// A tower and a connector before a Llama.
ModelSpec idefics3_spec(const Keys& keys) {
  const Keys text(object_of(keys, "text_config")), tower(object_of(keys, "vision_config"));
  if (const std::string type = text.text("model_type", "llama"); type != "llama")
    fail_input("the language model is a {}, which is not supported; only llama is", Keys::shown(type));
  check_activation(tower, "hidden_act", "gelu_pytorch_tanh", {"gelu_pytorch_tanh"});
  tower.only("num_channels", 3);
  ModelSpec spec = llama_spec(text, "idefics3");
  auto details = std::make_shared<Idefics3Details>();
  static_cast<LlamaDetails&>(*details) = *spec.details_as<LlamaDetails>();
  details->prefix = "model.text_model.";
  details->picture_token = int32_t(keys.size("image_token_id", most_vocabulary));
  if (details->picture_token >= spec.vocab)
    fail_input("'image_token_id' {} is beyond a vocabulary of {}", details->picture_token, spec.vocab);
  details->joined = keys.size("scale_factor", 64, 2);
  details->tile = tower.size("image_size", 4096, 224);
  details->patch = tower.size("patch_size", 4096, 32);
  details->tower_layers = tower.size("num_hidden_layers", most_layers, 12);
  details->tower_heads = tower.size("num_attention_heads", 4096, 16);
  details->tower_dim = tower.size("hidden_size", most_width, 1152);
  details->tower_ff = tower.size("intermediate_size", most_width, 3072);
  details->tower_epsilon = static_cast<float>(tower.number("layer_norm_eps", 1e-6));
  if (details->tile % details->patch || details->side() % details->joined)
    fail_input("'image_size' {} is not cut by 'patch_size' {} and 'scale_factor' {}", details->tile,
               details->patch, details->joined);
  spec.tied = keys.flag("tie_word_embeddings", false);
  spec.details = details;
  return spec;
}

ModelSpec gpt2_spec(const Keys& keys) {
  check_activation(keys, "activation_function", "gelu_new", {"gelu_new", "gelu_pytorch_tanh"});
  keys.only("is_causal", true);
  keys.only("scale_attn_weights", true);
  keys.only("scale_attn_by_inverse_layer_idx", false);
  keys.only("add_cross_attention", false);
  if (const double epsilon = keys.number("layer_norm_epsilon", 1e-5); std::abs(epsilon - 1e-5) > 1e-12)
    fail_input("'layer_norm_epsilon' is {}, which is not supported; only 1e-05 is", epsilon);
  ModelSpec spec{.family = "gpt2"};
  spec.layers = keys.size("n_layer", most_layers);
  spec.heads = keys.size("n_head", 4096);
  spec.dim = keys.size("n_embd", most_width);
  spec.ff = keys.size("n_inner", most_width, 4 * spec.dim);
  spec.vocab = keys.size("vocab_size", most_vocabulary);
  spec.positions = spec.context = keys.size("n_positions", most_positions);
  spec.tied = keys.flag("tie_word_embeddings", true);
  spec.head_bias = false;
  return spec;
}

// How pictures become tiles is said in a file of its own.
void read_pictures(const std::filesystem::path& folder, const Idefics3Details& details,
                   PretrainedConfig& read) {
  const TileSettings settings = read_tile_settings(folder);
  if (settings.tile != details.tile)
    fail_input("its tower looks at tiles of {} pixels, and its image processor cuts tiles of {}",
               details.tile, settings.tile);
  auto complete = std::make_shared<Idefics3Details>(details);
  complete->rescale = settings.rescale;
  for (size_t c = 0; c < 3; ++c)
    complete->mean[c] = settings.mean[c], complete->deviation[c] = settings.deviation[c];
  read.pictures = PictureTokens{settings, details.rows(), details.picture_token};
  read.spec.details = complete;
}

// What builds the model by its type would build another one.
void check_type(const Keys& keys, const std::string& architecture) {
  const std::string type = keys.text("model_type", "");
  const bool pictures = architecture.starts_with("Idefics3") || architecture.starts_with("SmolVLM");
  const bool fits = pictures ? type == "idefics3" || type == "smolvlm"
                             : type == (architecture.starts_with("Llama")   ? "llama"
                                        : architecture.starts_with("Qwen2") ? "qwen2"
                                        : architecture.starts_with("Qwen3") ? "qwen3"
                                                                            : "gpt2");
  if (!type.empty() && !fits)
    fail_input("'model_type' is {}, which is not that of {}", Keys::shown(type), architecture);
}

// More numbers than any machine this runs on could hold.
void check_total(const ModelSpec& s) {
  const double matrices = double(s.dim) * (4. * double(s.dim) + 3. * double(s.ff)) * double(s.layers);
  if (matrices + 2. * double(s.vocab) * double(s.dim) > 1e12)
    fail_input("the sizes come to more than 10^12 numbers");
}

}  // namespace

PretrainedConfig parse_config(std::string_view text) {
  const json config = parse_json(text);
  if (!config.is_object()) fail_input("it is not a JSON object of at most {} levels", deepest_json);
  // Programs differ in which of two values they take.
  if (const auto twice = key_twice(text)) fail_input("it has the key {} twice", Keys::shown(*twice));
  const Keys keys(config);
  const json* named = keys.find("architectures");
  if (!named || !named->is_array() || named->size() != 1 || !(*named)[0].is_string())
    fail_input("'architectures' does not name one architecture");
  PretrainedConfig read;
  read.architecture = (*named)[0].get<std::string>();
  keys.never("quantization_config");
  keys.only("is_encoder_decoder", false);
  if (read.architecture == "LlamaForCausalLM")
    read.spec = llama_spec(keys, "llama");
  else if (read.architecture == "Qwen2ForCausalLM")
    read.spec = llama_spec(keys, "qwen2");
  else if (read.architecture == "Qwen3ForCausalLM")
    read.spec = llama_spec(keys, "qwen3");
  else if (read.architecture == "GPT2LMHeadModel")
    read.spec = gpt2_spec(keys);
  else if (read.architecture == "Idefics3ForConditionalGeneration" ||
           read.architecture == "SmolVLMForConditionalGeneration")
    read.spec = idefics3_spec(keys);
  else
    fail_input(
        "architecture {} is not supported; LlamaForCausalLM, Qwen2ForCausalLM, Qwen3ForCausalLM, "
        "GPT2LMHeadModel, Idefics3ForConditionalGeneration and SmolVLMForConditionalGeneration are",
        Keys::shown((*named)[0]));
  check_type(keys, read.architecture);
  check_total(read.spec);
  return read;
}

std::string computation_of(const PretrainedConfig& config) {
  const ModelSpec& spec = config.spec;
  nlohmann::ordered_json out = {{"architectures", config.architecture},
                                {"num_attention_heads", spec.heads},
                                {"tie_word_embeddings", spec.tied}};
  if (const auto* details = spec.details_as<LlamaDetails>()) {
    const RotaryScaling& scaling = details->scaling;
    out["rms_norm_eps"] = details->epsilon;
    out["rope_theta"] = details->theta;
    out["rope_type"] = scaling.kind == RotaryScaling::Kind::none     ? "default"
                       : scaling.kind == RotaryScaling::Kind::linear ? "linear"
                                                                     : "llama3";
    out["factor"] = scaling.factor;
    if (scaling.kind == RotaryScaling::Kind::llama3) {
      out["low_freq_factor"] = scaling.low_factor, out["high_freq_factor"] = scaling.high_factor;
      out["original_max_position_embeddings"] = scaling.original_context;
    }
  }
  if (const auto* details = spec.details_as<Idefics3Details>()) {
    out["image_token_id"] = details->picture_token, out["scale_factor"] = details->joined;
    out["vision_config.num_attention_heads"] = details->tower_heads;
    out["layer_norm_eps"] = details->tower_epsilon;
    out["rescale_factor"] = details->rescale;
    out["image_mean"] = details->mean, out["image_std"] = details->deviation;
  }
  return out.dump();
}

bool looks_at_pictures(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "config.json";
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return false;
  const json config = parse_json(read_file(path, largest_config));
  return config.is_object() && config.contains("vision_config");
}

PretrainedConfig read_config(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "config.json";
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    fail_input("--model {}: there is no config.json in it; give the folder of a Hugging Face model",
               folder.string());
  const std::string text = read_file(path, largest_config);
  try {
    PretrainedConfig read = parse_config(text);
    if (const auto* details = read.spec.details_as<Idefics3Details>()) read_pictures(folder, *details, read);
    return read;
  } catch (const InputError& error) {
    fail_input("{}: {}", path.string(), error.what());
  }
}

}  // namespace plimsoll
