// Reads tokenizer.json. Everything in it is checked here; a component that is not known is refused by its name, because
// leaving it out would give other tokens.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokens/added_tokens.hpp"
#include "tokens/normalize.hpp"
#include "tokens/scanner.hpp"
#include "tokens/texts.hpp"

namespace plimsoll::tokens {

// Ids of tokens stay below; the largest vocabularies in use have a sixteenth of it.
constexpr int32_t most_tokens = 1 << 22;

struct TokenizerFile {
  // The model, byte-pair encoding.
  Texts vocabulary;          // as written, bytes shown as characters
  std::vector<int32_t> ids;  // of the vocabulary's texts
  Texts merges;              // left, right, left, right, …
  bool ignore_merges = false;
  bool fuse_unknown = false;
  std::optional<std::string> unknown;  // stands for bytes the vocabulary lacks; none: they are left out
  std::vector<AddedToken> added;
  // What happens to the text before.
  Form form = Form::as_is;
  bool single_digits = false;  // each is a piece of its own, and ends the text before it
  bool prefix_space = false;
  Scanner scanner = nullptr;
  // What the template puts around the tokens.
  std::vector<int32_t> before, after;
};

// InputError for anything that is not such a file.
TokenizerFile parse_tokenizer_file(std::string_view json);

// Untrusted text for a message: quoted, in one line, not too long.
std::string quote(std::string_view text);

}  // namespace plimsoll::tokens
