#include "data/model_text.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr uint64_t largest_config = 2 << 20, largest_tokenizer = 32 << 20;

// The object in a file of the folder; an empty one if there is no such file.
json read_config(const fs::path& path) {
  if (!fs::exists(path)) return json::object();
  json object = parse_json(read_file(path, largest_config));
  if (!object.is_object()) fail_input("{}: it is not a JSON object", path.string());
  return object;
}

// The template's own text; nothing where the model has none.
std::optional<std::string> find_template(const fs::path& folder, const json& config, bool pictures) {
  if (const fs::path file = folder / "chat_template.jinja"; fs::exists(file))
    return read_file(file, largest_config);
  // A processor's own file; the tokenizer of a model that sees has a second place.
  const json processor = read_config(folder / "chat_template.json").value("chat_template", json()),
             tokenizer = config.value("chat_template", json());
  const json& found = tokenizer.is_null() || (pictures && !processor.is_null()) ? processor : tokenizer;
  if (found.is_null()) return std::nullopt;
  if (found.is_string()) return found.get<std::string>();
  if (found.is_object() && found.value("default", json()).is_string())
    return found["default"].get<std::string>();
  if (found.is_array())
    for (const json& named : found)  // several, each with a name
      if (named.is_object() && named.value("name", json()) == "default" &&
          named.value("template", json()).is_string())
        return named["template"].get<std::string>();
  fail_input(
      "the model's chat_template is neither a text nor several of which one is the default; choose "
      "--chat-template chatml, llama3 or plain");
}

// A special token is written as a text or as an object.
std::optional<std::string> token_text(const json& config, const char* key) {
  const json token = config.value(key, json());
  const json content = token.is_object() ? token.value("content", json()) : token;
  return content.is_string() ? std::optional(content.get<std::string>()) : std::nullopt;
}

std::optional<int32_t> find_token(const json& config, const char* key, const tokens::Tokenizer& tokenizer) {
  const auto text = token_text(config, key);
  return text ? tokenizer.find_added(*text) : std::nullopt;
}

// config.json gives the ids themselves; of several the first.
std::optional<int32_t> find_id(const json& config, const char* key, const tokens::Tokenizer& tokenizer) {
  json id = config.value(key, json());
  if (id.is_array() && !id.empty()) id = json(id[0]);
  if (!id.is_number_unsigned() || id.get<uint64_t>() >= uint64_t(tokenizer.vocabulary())) return std::nullopt;
  return tokenizer.has(id.get<int32_t>()) ? std::optional(id.get<int32_t>()) : std::nullopt;
}

// How many tokens the model itself knows: a tokenizer may have more.
int rows_of(const json& config) {
  const auto text = config.find("text_config");
  const json size = (text != config.end() && text->is_object() ? *text : config).value("vocab_size", json());
  return size.is_number_unsigned() && size.get<uint64_t>() < INT32_MAX ? size.get<int>() : INT32_MAX;
}

ChatTemplate choose_template(std::string_view name, const std::optional<std::string>& own,
                             const SpecialTexts& special) {
  if (name == "auto") return own ? ChatTemplate::recognise(*own, special) : ChatTemplate(ChatFormat::plain);
  for (const ChatFormat format : {ChatFormat::plain, ChatFormat::chatml, ChatFormat::llama3})
    if (name == chat_format_name(format)) return ChatTemplate(format);
  fail_input("--chat-template {}: it is none of auto, chatml, llama3 and plain", name);
}

}  // namespace

ModelText load_model_text(const fs::path& model, std::string_view chat) {
  tokens::Tokenizer tokenizer = tokens::Tokenizer::load(model);
  const fs::path folder = fs::is_directory(model) ? model : model.parent_path();
  const json config = read_config(folder / "tokenizer_config.json"),
             sizes = read_config(folder / "config.json");
  auto begin = find_token(config, "bos_token", tokenizer), end = find_token(config, "eos_token", tokenizer);
  const json map = read_config(folder / "special_tokens_map.json"),
             generation = read_config(folder / "generation_config.json");
  if (!begin) begin = find_token(map, "bos_token", tokenizer);
  if (!end) end = find_token(map, "eos_token", tokenizer);
  // Templates know the tokenizer's own tokens only.
  SpecialTexts special{begin ? std::string(tokenizer.bytes(*begin)) : "",
                       end ? std::string(tokenizer.bytes(*end)) : ""};
  for (const char* key : {"unk_token", "sep_token", "pad_token", "cls_token", "mask_token"})
    for (const json& file : {config, map})
      if (const auto text = token_text(file, key)) {
        special.others.emplace_back(key, *text);
        break;
      }
  for (const json& numbers : {sizes, generation}) {
    if (!begin) begin = find_id(numbers, "bos_token_id", tokenizer);
    if (!end) end = find_id(numbers, "eos_token_id", tokenizer);
  }
  ChatTemplate chosen;
  std::string problem;
  try {
    chosen = choose_template(chat, find_template(folder, config, sizes.contains("vision_config")), special);
  } catch (const InputError& error) {
    if (chat != "auto") throw;
    problem = error.what();
  }
  const std::string file =
      read_file(fs::is_directory(model) ? model / "tokenizer.json" : model, largest_tokenizer);
  return {std::move(tokenizer),
          std::move(chosen),
          begin,
          end,
          fmt::format("xxh3-64 {:016x}", XXH3_64bits(file.data(), file.size())),
          problem,
          rows_of(sizes)};
}

void ModelText::check(std::span<const int32_t> tokens) const {
  for (const int32_t token : tokens)
    if (token >= rows)
      fail_input(
          "the token {} has the id {}, and the model knows only {} tokens; leave it out of the text, or "
          "resize "
          "the model's embeddings",
          tokens::quote(tokenizer.bytes(token)), token, rows);
}

bool ModelText::ends_answer(int32_t token) const {
  if (chat.format() == ChatFormat::own)
    return token == end || (!chat.answer_end().empty() && tokenizer.find_added(chat.answer_end()) == token);
  const std::vector<std::string> special = chat.special_tokens();
  return token == end || (!special.empty() && tokenizer.find_added(special.back()) == token);
}

}  // namespace plimsoll
