// Tokens that are looked for in the text itself, before it is cut into pieces: special tokens, and words added to a
// vocabulary.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::tokens {

struct AddedToken {
  int32_t id = 0;
  std::string content;
  bool special = false;
  bool left_strip = false, right_strip = false;  // takes the spaces before it, after it, along
  bool single_word = false;                      // only where no word goes on before or after it
  bool normalized = false;  // looked for in the normalized text, not in the text as it is
};

// A stretch of text: a token of its own, or text between such tokens.
struct Stretch {
  int32_t token = -1;  // -1: text
  std::string_view text = {};
};

class AddedTokens {
 public:
  AddedTokens() = default;
  // No content may be empty.
  explicit AddedTokens(std::vector<AddedToken> tokens);

  bool empty() const { return tokens_.empty(); }
  // Appends the stretches of a text, in order. The leftmost token is taken, the longest of those that begin together.
  void split(std::string_view text, std::vector<Stretch>& out) const;

 private:
  const AddedToken* longest_at(std::string_view rest) const;

  std::vector<AddedToken> tokens_;  // by content, all different
  std::vector<int32_t> prefixes_;  // of each token: the longest other one it begins with, -1 if there is none
  std::array<uint32_t, 257> first_{};  // where the tokens of a first byte begin
};

}  // namespace plimsoll::tokens
