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
  std::stable_sort(tokens_.begin(), tokens_.end(),
                   [](const AddedToken& a, const AddedToken& b) { return a.content < b.content; });
  // Of equal ones the first is meant.
  tokens_.erase(std::unique(tokens_.begin(), tokens_.end(),
                            [](const AddedToken& a, const AddedToken& b) { return a.content == b.content; }),
                tokens_.end());
  for (size_t i = 0; i < tokens_.size(); ++i) {
    int32_t prefix = int32_t(i) - 1;
    while (prefix >= 0 && !tokens_[i].content.starts_with(tokens_[size_t(prefix)].content))
      prefix = prefixes_[size_t(prefix)];
    prefixes_.push_back(prefix);
    ++first_[static_cast<unsigned char>(tokens_[i].content[0]) + 1u];
  }
  for (size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
}

// Every token that begins `rest` also begins the last token that does not come after `rest`.
const AddedToken* AddedTokens::longest_at(std::string_view rest) const {
  const auto byte = static_cast<unsigned char>(rest[0]);
  const auto begin = tokens_.begin() + first_[byte], end = tokens_.begin() + first_[byte + 1u];
  const auto after = std::upper_bound(
      begin, end, rest, [](std::string_view text, const AddedToken& token) { return text < token.content; });
  if (after == begin) return nullptr;
  const std::string& last = (after - 1)->content;
  const auto common =
      size_t(std::mismatch(last.begin(), last.end(), rest.begin(), rest.end()).first - last.begin());
  auto found = int32_t(after - 1 - tokens_.begin());
  while (found >= 0 && tokens_[size_t(found)].content.size() > common) found = prefixes_[size_t(found)];
  return found < 0 ? nullptr : &tokens_[size_t(found)];
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
