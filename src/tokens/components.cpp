#include "tokens/components.hpp"

#include "base/error.hpp"

namespace plimsoll::tokens {
namespace {

using nlohmann::json;

std::string type_of(const char* kind, const json& component) {
  if (!component.is_object() || !component.value("type", json()).is_string())
    fail_input("the {} has no type", kind);
  return component["type"].get<std::string>();
}

// The parts of a Sequence, or the component itself; none for null.
std::vector<json> parts_of(const char* kind, const char* key, const json& component) {
  if (component.is_null()) return {};
  if (type_of(kind, component) != "Sequence") return {component};
  const json parts = component.value(key, json());
  if (!parts.is_array()) fail_input("the {} is a Sequence without `{}`", kind, key);
  return parts.get<std::vector<json>>();
}

Scanner split_scanner(const json& split) {
  const json pattern = split.value("pattern", json::object());
  const json regex = pattern.is_object() ? pattern.value("Regex", json()) : json();
  if (!regex.is_string()) fail_input("the pre-tokenizer Split has no pattern `Regex`");
  if (split.value("behavior", json()) != "Isolated" || flag(split, "invert", false))
    fail_input("the pre-tokenizer Split has the behavior {}{}; only Isolated, not inverted, is supported",
               quote_value(split.value("behavior", json())),
               flag(split, "invert", false) ? ", inverted" : "");
  const Scanner scanner = find_scanner(regex.get_ref<const std::string&>());
  if (!scanner)
    fail_input(
        "the pre-tokenizer splits by the pattern {}, which is not known; those of GPT-2, Llama-3 and Qwen2 "
        "are",
        quote(regex.get_ref<const std::string&>()));
  return scanner;
}

// One of the tokens a template puts around the text.
void add_template_token(const json& piece, const json& known, std::vector<int32_t>& out) {
  const json name = piece.value("id", json());
  const json token = name.is_string() && known.is_object()
                         ? known.value(name.get_ref<const std::string&>(), json::object())
                         : json::object();
  const json ids = token.is_object() ? token.value("ids", json()) : json();
  if (!ids.is_array()) fail_input("the template's token {} has no ids", quote_value(name));
  for (const json& id : ids) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() >= uint64_t(most_tokens))
      fail_input("the template's token {} has the id {}", quote_value(name), quote_value(id));
    out.push_back(id.get<int32_t>());
  }
}

void read_template(const json& component, TokenizerFile& file) {
  const json single = component.value("single", json());
  if (!single.is_array()) fail_input("the post-processor TemplateProcessing has no `single`");
  const json known = component.value("special_tokens", json());
  bool text_seen = false;
  for (const json& piece : single) {
    if (piece.is_object() && piece.contains("Sequence") && !text_seen)
      text_seen = true;
    else if (piece.is_object() && piece.contains("SpecialToken") && piece["SpecialToken"].is_object())
      add_template_token(piece["SpecialToken"], known, text_seen ? file.after : file.before);
    else
      fail_input("the template has the piece {}; expected one Sequence and special tokens",
                 quote_value(piece));
  }
  if (!text_seen) fail_input("the template has no Sequence for the text");
}

}  // namespace

std::string quote_value(const json& value) {
  return quote(value.is_string() ? value.get_ref<const std::string&>() : value.dump());
}

void refuse_component(const char* kind, const json& type) {
  fail_input(
      "the {} {} is not supported; byte-level BPE tokenizers as those of GPT-2, SmolLM2, Llama-3 and Qwen2 "
      "are",
      kind, quote_value(type));
}

bool flag(const json& object, const char* key, bool otherwise) {
  const json value = object.value(key, json());
  if (value.is_null()) return otherwise;
  if (!value.is_boolean()) fail_input("`{}` is {}; expected true or false", key, quote_value(value));
  return value.get<bool>();
}

void read_normalizer(const json& component, TokenizerFile& file) {
  for (const json& part : parts_of("normalizer", "normalizers", component)) {
    const std::string type = type_of("normalizer", part);
    if ((type != "NFC" && type != "NFKC") || file.form != Form::as_is) refuse_component("normalizer", type);
    file.form = type == "NFC" ? Form::nfc : Form::nfkc;
  }
}

void read_pre_tokenizer(const json& component, TokenizerFile& file) {
  bool to_bytes = false;
  for (const json& part : parts_of("pre-tokenizer", "pretokenizers", component)) {
    const std::string type = type_of("pre-tokenizer", part);
    if (to_bytes) refuse_component("pre-tokenizer after ByteLevel,", type);
    if (type == "Digits" && flag(part, "individual_digits", false) && !file.scanner) {
      file.single_digits = true;
    } else if (type == "Split" && !file.scanner) {
      file.scanner = split_scanner(part);
    } else if (type == "ByteLevel") {
      to_bytes = true;
      file.prefix_space = flag(part, "add_prefix_space", true);
      if (file.prefix_space && (file.scanner || file.single_digits))
        fail_input(
            "the pre-tokenizer ByteLevel has add_prefix_space after another one, which is not supported");
      if (!flag(part, "use_regex", true)) continue;
      if (file.scanner)
        fail_input("the pre-tokenizer ByteLevel has use_regex after Split, which is not supported");
      file.scanner = scan_gpt2;
    } else {
      refuse_component("pre-tokenizer", type == "Digits" ? "Digits without individual_digits" : type);
    }
  }
  if (!to_bytes) fail_input("it has no pre-tokenizer ByteLevel; only byte-level BPE is supported");
}

void read_post_processor(const json& component, TokenizerFile& file) {
  bool has_template = false;
  for (const json& part : parts_of("post-processor", "processors", component)) {
    const std::string type = type_of("post-processor", part);
    if (type == "ByteLevel") continue;  // changes offsets only
    if (type != "TemplateProcessing" || has_template) refuse_component("post-processor", type);
    read_template(part, file);
    has_template = true;
  }
}

void read_decoder(const json& component) {
  const auto parts = parts_of("decoder", "decoders", component);
  for (const json& part : parts)
    if (const std::string type = type_of("decoder", part); type != "ByteLevel")
      refuse_component("decoder", type);
  if (parts.empty()) refuse_component("decoder", nullptr);
}

}  // namespace plimsoll::tokens
