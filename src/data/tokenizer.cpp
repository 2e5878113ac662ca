#include "data/tokenizer.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/utf8.hpp"
#include "data/model_text.hpp"

namespace plimsoll {

Tokenizer Tokenizer::bytes() { return Tokenizer(Kind::bytes); }

Tokenizer Tokenizer::characters(std::vector<char32_t> characters) {
  if (characters.empty()) fail_input("[tokenizer] no characters; a vocabulary needs at least one");
  for (size_t i = 0; i < characters.size(); ++i) {
    if (!is_scalar(characters[i]))
      fail_input("[tokenizer] U+{:04X} is not a character", static_cast<uint32_t>(characters[i]));
    if (i > 0 && characters[i] <= characters[i - 1])
      fail_input("[tokenizer] {} is out of order; expected ascending, distinct characters",
                 show_code_point(characters[i]));
  }
  Tokenizer result(Kind::characters);
  result.ascii_.fill(-1);
  for (size_t i = 0; i < characters.size() && characters[i] < result.ascii_.size(); ++i)
    result.ascii_[characters[i]] = static_cast<int32_t>(i);
  result.characters_ = std::move(characters);
  return result;
}

Tokenizer Tokenizer::of_model(const std::filesystem::path& folder, std::string_view chat) {
  return of_text(load_model_text(folder, chat));
}

Tokenizer Tokenizer::of_text(ModelText text) {
  Tokenizer result(Kind::model);
  result.model_ = std::make_shared<const ModelText>(std::move(text));
  result.checksum_ = result.model_->checksum;
  return result;
}

void Tokenizer::read_from(const std::filesystem::path& folder, std::string_view chat) {
  if (kind_ != Kind::model) return;
  Tokenizer found = of_model(folder, chat);
  if (found.checksum_ != checksum_)
    fail_input(
        "{}: its tokenizer is not the one this run was trained with; give that model's folder as --model",
        folder.string());
  *this = std::move(found);
}

int Tokenizer::vocabulary() const {
  if (kind_ == Kind::model) return model_ ? std::min(model_->tokenizer.vocabulary(), model_->rows) : 0;
  return kind_ == Kind::bytes ? 256 : static_cast<int>(characters_.size());
}

size_t Tokenizer::longest_token() const {
  if (kind_ != Kind::model) return kind_ == Kind::bytes ? 1 : 4;
  size_t longest = 0;
  for (int32_t token = 0; token < vocabulary(); ++token)
    longest = std::max(longest, model_->tokenizer.bytes(token).size());
  return longest;
}

int32_t Tokenizer::token_beyond_ascii(char32_t character) const {
  auto place = std::lower_bound(characters_.begin(), characters_.end(), character);
  return place != characters_.end() && *place == character ? static_cast<int32_t>(place - characters_.begin())
                                                           : -1;
}

std::vector<int32_t> Tokenizer::encode(std::string_view text) const {
  if (kind_ == Kind::model) {
    std::vector<int32_t> tokens = model_->tokenizer.encode(text);
    model_->check(tokens);
    return tokens;
  }
  std::vector<int32_t> tokens;
  tokens.reserve(text.size());
  auto rest = bytes_of(text);
  if (kind_ == Kind::bytes) {
    tokens.assign(rest.begin(), rest.end());
    return tokens;
  }
  while (!rest.empty()) {
    auto [value, bytes] = first_code_point(rest);
    if (bytes == 0)
      fail_input("[tokenizer] the text is not UTF-8 at byte {}; give UTF-8 text", text.size() - rest.size());
    const int32_t token = token_of(value);
    if (token < 0)
      fail_input(
          "[tokenizer] the model does not know the character {} at position {}; use characters of its "
          "training data",
          show_code_point(value), tokens.size());
    tokens.push_back(token);
    rest = rest.subspan(bytes);
  }
  return tokens;
}

void Tokenizer::append(std::string& text, int32_t token) const {
  if (token < 0 || token >= vocabulary())
    fail("[tokenizer] token {} is outside the vocabulary of {}", token, vocabulary());
  if (kind_ == Kind::model)
    text += model_->tokenizer.bytes(token);  // nothing for an id that no token has
  else if (kind_ == Kind::bytes)
    text += static_cast<char>(token);
  else
    append_utf8(text, characters_[token]);
}

std::string Tokenizer::decode(std::span<const int32_t> tokens) const {
  std::string text;
  text.reserve(tokens.size());
  for (int32_t token : tokens) append(text, token);
  return text;
}

nlohmann::json Tokenizer::to_json() const {
  if (kind_ == Kind::bytes) return {{"kind", "bytes"}};
  if (kind_ == Kind::model) return {{"kind", "model"}, {"checksum", checksum_}};
  std::string text;
  for (char32_t character : characters_) append_utf8(text, character);
  return {{"kind", "characters"}, {"characters", text}};
}

Tokenizer Tokenizer::from_json(const nlohmann::json& json) {
  auto text_at = [&](const char* key) -> const std::string& {
    if (!json.is_object() || !json.contains(key) || !json[key].is_string())
      fail_input(
          "[tokenizer] expected an object with a text `{}`; the file is damaged or was written by another "
          "program",
          key);
    return json[key].get_ref<const std::string&>();
  };
  const std::string& kind = text_at("kind");
  if (kind == "bytes") return bytes();
  if (kind == "model") {
    Tokenizer result(Kind::model);
    result.checksum_ = text_at("checksum");
    return result;
  }
  if (kind != "characters")
    fail_input("[tokenizer] kind is none of `bytes`, `characters` and `model`; the file is damaged");
  const std::string& text = text_at("characters");
  std::vector<char32_t> list;
  for (auto rest = bytes_of(text); !rest.empty();) {
    auto [value, bytes] = first_code_point(rest);
    if (bytes == 0) fail_input("[tokenizer] `characters` is not UTF-8 at byte {}", text.size() - rest.size());
    list.push_back(value);
    rest = rest.subspan(bytes);
  }
  return characters(std::move(list));
}

Tokenizer::Kind parse_tokenizer_kind(std::string_view name) {
  if (name == "char") return Tokenizer::Kind::characters;
  if (name == "bytes") return Tokenizer::Kind::bytes;
  fail_input("[tokenizer] `{}` is not a tokenizer; choose char or bytes", name);
}

}  // namespace plimsoll
