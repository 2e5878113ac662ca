#include "tokens/added_tokens.hpp"

#include <algorithm>

#include "tokens/characters.hpp"

namespace plimsoll::tokens {
namespace {

// The character that ends at `at`, which is not 0.
Character character_before(std::string_view text, size_t at) {
  size_t begin = at - 1;
  while ((text[begin] & 0xC0) == 0x80) --begin;
  return first_character(text.data() + begin);
}

bool stands_alone(std::string_view text, size_t begin, size_t end) {
  return (begin == 0 || !is_word(character_before(text, begin).value)) &&
         (end == text.size() || !is_word(first_character(text.data() + end).value));
}

size_t without_spaces_before(std::string_view text, size_t at) {
  while (at > 0) {
    const Character c = character_before(text, at);
    if (find_class(c.value) != Class::space) break;
    at -= size_t(c.bytes);
  }
  return at;
}

size_t without_spaces_after(std::string_view text, size_t at) {
  while (at < text.size()) {
    const Character c = first_character(text.data() + at);
    if (find_class(c.value) != Class::space) break;
    at += size_t(c.bytes);
  }
  return at;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  auto first = [](const AddedToken& token) { return static_cast<unsigned char>(token.content[0]); };
  std::stable_sort(tokens_.begin(), tokens_.end(), [&](const AddedToken& a, const AddedToken& b) {
    return first(a) != first(b) ? first(a) < first(b) : a.content.size() > b.content.size();
  });
  for (const AddedToken& token : tokens_) ++first_[first(token) + 1u];
  for (size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
}

const AddedToken* AddedTokens::longest_at(std::string_view rest) const {
  const auto byte = static_cast<unsigned char>(rest[0]);
  for (size_t i = first_[byte]; i < first_[byte + 1u]; ++i)
    if (rest.starts_with(tokens_[i].content)) return &tokens_[i];
  return nullptr;
}

void AddedTokens::split(std::string_view text, std::vector<Stretch>& out) const {
  size_t done = 0;
  for (size_t at = 0; at < text.size() && !empty();) {
    const AddedToken* const token = longest_at(text.substr(at));
    if (!token) {
      ++at;
      continue;
    }
    size_t begin = at, end = at + token->content.size();
    at = end;
    if (token->single_word && !stands_alone(text, begin, end)) continue;
    // What the token before has taken along stays with it.
    if (token->left_strip) begin = std::max(done, without_spaces_before(text, begin));
    if (begin >= end) continue;
    if (token->right_strip) end = without_spaces_after(text, end);
    if (done < begin) out.push_back({-1, text.substr(done, begin - done)});
    out.push_back({token->id, {}});
    done = end;
  }
  if (done < text.size()) out.push_back({-1, text.substr(done)});
}

}  // namespace plimsoll::tokens
