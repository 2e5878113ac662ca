#include "tokens/added_tokens.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace plimsoll::tokens {
namespace {

std::string shown(const std::vector<Stretch>& stretches) {
  std::string all;
  for (const Stretch& stretch : stretches)
    all += stretch.token < 0 ? "'" + std::string(stretch.text) + "' " : std::to_string(stretch.token) + " ";
  return all;
}

std::string split(const AddedTokens& tokens, std::string_view text) {
  std::vector<Stretch> stretches;
  tokens.split(text, stretches);
  return shown(stretches);
}

// As the header says: the leftmost, of those the longest, of equal ones the first.
std::string split_plainly(const std::vector<AddedToken>& tokens, std::string_view text) {
  std::vector<Stretch> stretches;
  size_t done = 0, at = 0;
  while (at < text.size()) {
    const AddedToken* longest = nullptr;
    for (const AddedToken& token : tokens)
      if (text.substr(at).starts_with(token.content) &&
          (!longest || token.content.size() > longest->content.size()))
        longest = &token;
    if (!longest) {
      ++at;
      continue;
    }
    if (done < at) stretches.push_back({-1, text.substr(done, at - done)});
    stretches.push_back({longest->id, {}});
    done = at += longest->content.size();
  }
  if (done < text.size()) stretches.push_back({-1, text.substr(done)});
  return shown(stretches);
}

TEST(AddedTokens, TakeTheLongestOfThoseThatBeginTogether) {
  const AddedTokens tokens(
      {{.id = 0, .content = "<a"}, {.id = 1, .content = "<a>"}, {.id = 2, .content = "<ab>c"}});
  EXPECT_EQ(split(tokens, "x<a>"), "'x' 1 ");
  EXPECT_EQ(split(tokens, "<ab>c"), "2 ");
  EXPECT_EQ(split(tokens, "<ab>d"), "0 'b>d' ");
  EXPECT_EQ(split(tokens, "<b"), "'<b' ");
  EXPECT_EQ(split(tokens, ""), "");
}

TEST(AddedTokens, AreFoundAsDefined) {
  const CounterRng random(5, Stream::shuffle);
  uint64_t draw = 0;
  const auto drawn = [&](uint64_t longest, uint64_t letters) {
    std::string text(1 + random.below(draw++, longest), ' ');
    for (char& c : text) c = "ab\xC3\xA9"[random.below(draw++, letters)];
    return text;
  };
  for (int round = 0; round < 500; ++round) {
    const uint64_t letters = 1 + random.below(draw++, 4);
    std::vector<AddedToken> tokens;
    for (uint64_t i = random.below(draw++, 30); i > 0; --i)
      tokens.push_back({.id = int32_t(i), .content = drawn(6, letters)});
    const std::string text = drawn(80, letters);
    EXPECT_EQ(split(AddedTokens(tokens), text), split_plainly(tokens, text)) << round;
  }
}

}  // namespace
}  // namespace plimsoll::tokens
