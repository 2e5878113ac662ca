// A byte-level BPE tokenizer as Hugging Face models bring it: text to token ids and back, id for id what the
// `tokenizers` library gives.
//
//   const auto tokenizer = tokens::Tokenizer::load("SmolLM2-135M");
//   const std::vector<int32_t> ids = tokenizer.encode("Hello");
#pragma once
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokens/added_tokens.hpp"
#include "tokens/merges.hpp"
#include "tokens/tokenizer_file.hpp"

namespace plimsoll::tokens {

class Tokenizer {
 public:
  // From a tokenizer.json, or a folder that has one. InputError for what cannot be read exactly.
  static Tokenizer load(const std::filesystem::path& path);
  static Tokenizer from_json(std::string_view json);

  // The tokens of a text. `template_tokens` puts those around it that the file's template asks for, such as the token
  // that begins a text. InputError for text that is not UTF-8, with the position.
  std::vector<int32_t> encode(std::string_view text, bool template_tokens = false) const;
  // Appends them.
  void encode(std::string_view text, std::vector<int32_t>& out, bool template_tokens = false) const;
  // The bytes behind the tokens; they need not be UTF-8 if a character was cut. InputError for an id that no token has.
  std::string decode(std::span<const int32_t> tokens) const;
  // For text that arrives token by token.
  void append(std::string& text, int32_t token) const;

  // What the file's template puts before a text.
  std::span<const int32_t> before_text() const { return before_; }
  // One more than the largest id.
  int vocabulary() const { return int(bytes_.size()); }
  // The added token that is written so, such as "<|im_end|>".
  std::optional<int32_t> find_added(std::string_view content) const;
  bool is_special(int32_t token) const { return special_[size_t(token)]; }
  // The bytes behind one token, which must exist.
  std::string_view bytes(int32_t token) const { return bytes_[size_t(token)]; }
  bool has(int32_t token) const { return token >= 0 && token < vocabulary() && exists_[size_t(token)]; }

 private:
  explicit Tokenizer(TokenizerFile file);
  std::vector<bool> read_tokens(const TokenizerFile& file);
  void read_merges(const TokenizerFile& file);
  void find_whole_pieces(std::vector<bool> writable, bool ignore_merges);
  void read_added();
  void encode_text(std::string_view text, std::vector<int32_t>& out) const;
  void encode_pieces(std::string_view text, std::vector<int32_t>& out) const;
  void encode_piece(std::string_view piece, std::vector<int32_t>& out) const;
  void append_bytes(std::string_view piece, std::vector<int32_t>& out) const;

  Texts bytes_;  // of each id; a piece that is a token can be found
  std::vector<bool> exists_, special_;
  std::array<int32_t, 256> byte_tokens_;  // of single bytes, or -1
  Merges merges_;
  std::vector<AddedToken> added_;
  AddedTokens as_is_, normalized_;  // those looked for before and after the text is normalized
  std::vector<int32_t> before_, after_;
  int32_t unknown_ = -1;
  bool fuse_unknown_, single_digits_, prefix_space_;
  Form form_;
  Scanner scanner_;
};

}  // namespace plimsoll::tokens
