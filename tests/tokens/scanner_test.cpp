#include "tokens/scanner.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace plimsoll::tokens {
namespace {

using Pieces = std::vector<std::string>;

Pieces pieces(Scanner scanner, std::string_view text) {
  Pieces found;
  while (!text.empty()) {
    const size_t bytes = scanner(text);
    if (bytes == 0 || bytes > text.size()) {
      ADD_FAILURE() << bytes << " bytes of " << text;
      break;
    }
    found.emplace_back(text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
  return found;
}

struct Case {
  const char* text;
  Pieces expected;
};

TEST(Scanner, CutsAsGpt2) {
  const Case cases[] = {
      {"Hello, world's end", {"Hello", ",", " world", "'s", " end"}},
      {"I'll I'LL 'll", {"I", "'ll", " I", "'", "LL", " '", "ll"}},
      {"a  b", {"a", " ", " b"}},
      {"a \n b", {"a", " \n", " b"}},
      {"a\n\nb", {"a", "\n", "\n", "b"}},
      {"x  ", {"x", "  "}},
      {"12 345x", {"12", " 345", "x"}},
      {"\u00a0é!\u0663", {"\u00a0", "é", "!", "\u0663"}},
      {"e\u0301", {"e", "\u0301"}},  // a mark is no letter
  };
  for (const Case& c : cases) EXPECT_EQ(pieces(scan_gpt2, c.text), c.expected) << c.text;
}

TEST(Scanner, CutsAsLlama3) {
  const Case cases[] = {
      {"I'LL say'ſ", {"I", "'LL", " say", "'ſ"}},
      {"1234567", {"123", "456", "7"}},
      {"\tfoo(bar)\n\n\nbaz", {"\tfoo", "(bar", ")\n\n\n", "baz"}},
      {"a \n \n  b", {"a", " \n \n", " ", " b"}},
      {"x   ", {"x", "   "}},
      {" 7", {" ", "7"}},
      {"\nword", {"\n", "word"}},
      {" ... ok", {" ...", " ok"}},
      {"日本語!", {"日本語", "!"}},
  };
  for (const Case& c : cases) EXPECT_EQ(pieces(scan_llama3, c.text), c.expected) << c.text;
}

TEST(Scanner, CutsDigitsSinglyAsQwen2) {
  EXPECT_EQ(pieces(scan_qwen2, "a123"), (Pieces{"a", "1", "2", "3"}));
}

TEST(Scanner, KnowsItsPatternsOnly) {
  EXPECT_EQ(find_scanner(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"),
            &scan_gpt2);
  EXPECT_EQ(find_scanner(R"(\w+)"), nullptr);
}

}  // namespace
}  // namespace plimsoll::tokens
