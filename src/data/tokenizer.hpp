// Converts text to tokens and back. A tokenizer is a value: it is saved with the model and compared on resume.
#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

struct ModelText;

class Tokenizer {
 public:
  enum class Kind { characters, bytes, model };

  // A token a byte: vocabulary 256, takes anything.
  static Tokenizer bytes();
  // A token a character; `characters` become tokens 0, 1, … in ascending order. InputError unless they are
  // sorted, distinct, valid and at least one.
  static Tokenizer characters(std::vector<char32_t> characters);

  // That of a published model: its folder's tokenizer.json. InputError where it cannot be read.
  static Tokenizer of_model(const std::filesystem::path& folder, std::string_view chat = "auto");
  static Tokenizer of_text(ModelText text);
  // Saved with a run it is only a checksum; this reads it from the folder. InputError if that holds another one. Nothing
  // happens to other kinds.
  void read_from(const std::filesystem::path& folder, std::string_view chat = "auto");

  Kind kind() const { return kind_; }
  // Of a model no more than it has rows: encode() gives no others.
  int vocabulary() const;
  // The most bytes that one token writes.
  size_t longest_token() const;
  // What else the model says about text; only of Kind::model.
  const std::shared_ptr<const ModelText>& model() const { return model_; }

  // InputError for text that is not UTF-8 or has a character or token not in the vocabulary: names it and its
  // position.
  std::vector<int32_t> encode(std::string_view text) const;
  // Tokens outside the vocabulary are an Error. Bytes come back as they are, be they UTF-8 or not.
  std::string decode(std::span<const int32_t> tokens) const;
  // For text that arrives token by token.
  void append(std::string& text, int32_t token) const;

  // The token of a character, -1 if it has none. Only for Kind::characters.
  int32_t token_of(char32_t character) const {
    return character < ascii_.size() ? ascii_[character] : token_beyond_ascii(character);
  }

  // {"kind": "bytes"}, {"kind": "characters", "characters": "\n abc…"} or {"kind": "model", "checksum": "…"}.
  nlohmann::json to_json() const;
  // InputError for anything to_json() would not write.
  static Tokenizer from_json(const nlohmann::json& json);

  bool operator==(const Tokenizer& other) const {
    return kind_ == other.kind_ && characters_ == other.characters_ && checksum_ == other.checksum_;
  }

 private:
  explicit Tokenizer(Kind kind) : kind_(kind) {}
  int32_t token_beyond_ascii(char32_t character) const;

  Kind kind_;
  std::vector<char32_t> characters_;  // token -> character, ascending
  std::array<int32_t, 128> ascii_{};  // character -> token or -1
  std::shared_ptr<const ModelText> model_;
  std::string checksum_;  // of the model's tokenizer.json
};

// "char" or "bytes", as the command line has it; InputError otherwise.
Tokenizer::Kind parse_tokenizer_kind(std::string_view name);

}  // namespace plimsoll
