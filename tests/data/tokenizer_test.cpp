#include "data/tokenizer.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "base/utf8.hpp"

namespace plimsoll {
namespace {

std::string message_of(auto&& work) {
  try {
    work();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

bool is_utf8(std::string_view text) {
  for (auto rest = bytes_of(text); !rest.empty();) {
    const int bytes = first_code_point(rest).bytes;
    if (bytes == 0) return false;
    rest = rest.subspan(bytes);
  }
  return true;
}

rc::Gen<char32_t> any_character() {
  auto range = [](uint32_t from, uint32_t to) { return rc::gen::inRange<uint32_t>(from, to); };
  return rc::gen::cast<char32_t>(rc::gen::oneOf(range(0, 0x80), range(0x80, 0x800), range(0x800, 0xD800),
                                                range(0xE000, 0x10000), range(0x10000, 0x110000)));
}

}  // namespace

TEST(Utf8, EveryScalarComesBack) {
  for (char32_t value = 0; value <= 0x10FFFF; ++value) {
    if (!is_scalar(value)) continue;
    std::string text;
    append_utf8(text, value);
    const CodePoint back = first_code_point(bytes_of(text));
    ASSERT_EQ(back.value, value);
    ASSERT_EQ(static_cast<size_t>(back.bytes), text.size());
    for (size_t cut = 1; cut < text.size(); ++cut) ASSERT_FALSE(is_utf8(text.substr(0, cut)));
  }
}

TEST(Utf8, HostileBytesAreRefused) {
  using namespace std::string_literals;
  const std::string hostile[] = {"\x80"s,
                                 "\xBF"s,
                                 "\xFE"s,
                                 "\xFF"s,
                                 "\xC0\x80"s,
                                 "\xC1\xBF"s,
                                 "\xE0\x80\x80"s,
                                 "\xE0\x9F\xBF"s,
                                 "\xF0\x80\x80\x80"s,
                                 "\xF0\x8F\xBF\xBF"s,  // overlong
                                 "\xED\xA0\x80"s,
                                 "\xED\xBF\xBF"s,  // surrogates
                                 "\xF4\x90\x80\x80"s,
                                 "\xF7\xBF\xBF\xBF"s,
                                 "\xF8\x88\x80\x80\x80"s,  // beyond the last code point
                                 "\xC3"s,
                                 "\xE2\x82"s,
                                 "\xF0\x9F\x98"s,  // cut short
                                 "\xC3\x28"s,
                                 "\xE2\x28\xA1"s,
                                 "\xE2\x82\x28"s,
                                 "\xF0\x28\x8C\xBC"s,
                                 "\xC3\xC3"s};
  for (const std::string& text : hostile) {
    EXPECT_EQ(first_code_point(bytes_of(text)).bytes, 0) << testing::PrintToString(text);
    EXPECT_THROW(Tokenizer::characters({U'a', U'é'}).encode("a" + text), InputError);
    EXPECT_EQ(Tokenizer::bytes().decode(Tokenizer::bytes().encode(text)), text);
    EXPECT_THROW(Tokenizer::from_json({{"kind", "characters"}, {"characters", text}}), InputError);
  }
}

TEST(Utf8, DecodingNeverAcceptsWhatEncodingWouldNotWrite) {
  EXPECT_TRUE(rc::check([](const std::string& text) {
    for (auto rest = bytes_of(text); !rest.empty();) {
      const auto [value, bytes] = first_code_point(rest);
      if (bytes == 0) return;
      std::string again;
      append_utf8(again, value);
      RC_ASSERT(again == std::string(rest.begin(), rest.begin() + bytes));
      rest = rest.subspan(bytes);
    }
  }));
}

TEST(Tokenizer, TextAndVocabularyComeBack) {
  EXPECT_TRUE(rc::check([] {
    const auto text = *rc::gen::nonEmpty(rc::gen::container<std::u32string>(any_character()));
    const std::set<char32_t> distinct(text.begin(), text.end());
    const Tokenizer tokenizer = Tokenizer::characters({distinct.begin(), distinct.end()});
    std::string utf8;
    for (char32_t c : text) append_utf8(utf8, c);
    const auto tokens = tokenizer.encode(utf8);
    RC_ASSERT(tokens.size() == text.size());
    for (int32_t token : tokens) RC_ASSERT(token >= 0 && token < tokenizer.vocabulary());
    RC_ASSERT(tokenizer.decode(tokens) == utf8);
    RC_ASSERT(Tokenizer::from_json(nlohmann::json::parse(tokenizer.to_json().dump())) == tokenizer);
  }));
  EXPECT_TRUE(rc::check([](const std::string& text) {
    RC_ASSERT(Tokenizer::bytes().decode(Tokenizer::bytes().encode(text)) == text);
  }));
  EXPECT_EQ(Tokenizer::from_json(Tokenizer::bytes().to_json()), Tokenizer::bytes());
}

TEST(Tokenizer, TokensAreInOrderOfCharacters) {
  const Tokenizer tokenizer = Tokenizer::characters({U'\n', U'a', U'c', U'é', U'😀'});
  EXPECT_EQ(tokenizer.encode("c😀aé\n"), (std::vector<int32_t>{2, 4, 1, 3, 0}));
  EXPECT_EQ(tokenizer.token_of(U'b'), -1);
  EXPECT_EQ(tokenizer.token_of(U'è'), -1);
}

TEST(Tokenizer, UnknownCharactersAreNamedWithTheirPosition) {
  const Tokenizer tokenizer = Tokenizer::characters({U'a', U'é'});
  auto encode = [&](std::string text) { return message_of([&] { tokenizer.encode(text); }); };
  EXPECT_NE(encode("éaßa").find("'ß' (U+00DF) at position 2"), std::string::npos) << encode("éaßa");
  EXPECT_NE(encode("a\x07").find("U+0007 at position 1"), std::string::npos);
  EXPECT_EQ(encode("a\x07").find('\x07'), std::string::npos);
  EXPECT_NE(encode("éa\xC3").find("not UTF-8 at byte 3"), std::string::npos);
}

TEST(Tokenizer, WhatIsNotATokenizerIsRefused) {
  for (const char* text :
       {"null", "[]", "{}", "7", R"({"kind":7})", R"({"kind":"words"})", R"({"kind":"characters"})",
        R"({"kind":"characters","characters":""})", R"({"kind":"characters","characters":"ba"})",
        R"({"kind":"characters","characters":"aa"})", R"({"kind":"characters","characters":["a"]})"})
    EXPECT_THROW(Tokenizer::from_json(nlohmann::json::parse(text)), InputError) << text;
  EXPECT_THROW(Tokenizer::characters({0xD800}), InputError);
  const int32_t outside[] = {-1, 256};
  for (int32_t token : outside) EXPECT_THROW(Tokenizer::bytes().decode({&token, 1}), Error);
  EXPECT_EQ(parse_tokenizer_kind("char"), Tokenizer::Kind::characters);
  EXPECT_EQ(parse_tokenizer_kind("bytes"), Tokenizer::Kind::bytes);
  EXPECT_THROW(parse_tokenizer_kind("bpe"), InputError);
}

}  // namespace plimsoll
