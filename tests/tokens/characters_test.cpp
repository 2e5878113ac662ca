#include "tokens/characters.hpp"

#include <gtest/gtest.h>

#include "tokens/normalize.hpp"

namespace plimsoll::tokens {
namespace {

TEST(Characters, HaveTheClassesOfUnicode16) {
  const Classes class_of;
  for (const char32_t letter : {U'a', U'é', U'ß', U'日', U'\u1C89', U'\U0001E030', U'\U0002EBF0'})
    EXPECT_EQ(class_of(letter), Class::letter) << uint32_t(letter);
  for (const char32_t number : {U'0', U'½', U'Ⅷ', U'\u0663', U'\U0001E5F1'})
    EXPECT_EQ(class_of(number), Class::number) << uint32_t(number);
  for (const char32_t space : {U' ', U'\n', U'\u0085', U'\u00a0', U'\u3000'})
    EXPECT_EQ(class_of(space), Class::space) << uint32_t(space);
  for (const char32_t other : {U'\'', U'\u0301', U'\u200b', U'\u180e', U'\U00011DE0', U'😀'})
    EXPECT_EQ(class_of(other), Class::other) << uint32_t(other);
  EXPECT_TRUE(is_numeric(U'\U00011DE0'));  // a later Unicode is asked there
  EXPECT_TRUE(is_word(U'_') && is_word(U'\u0301') && is_word(U'Ⓐ') && !is_word(U'½') && !is_word(U'-'));
}

TEST(Characters, ShowBytes) {
  EXPECT_EQ(shown_byte(' '), "Ġ");
  EXPECT_EQ(shown_byte('\n'), "Ċ");
  EXPECT_EQ(shown_byte(0xAD), "Ń");
  EXPECT_EQ(shown_byte('a'), "a");
  for (int byte = 0; byte < 256; ++byte)
    EXPECT_EQ(bytes_behind(shown_byte(static_cast<unsigned char>(byte))), std::string(1, char(byte)));
  EXPECT_EQ(bytes_behind("a b"), std::nullopt);  // a space is never shown as itself
  EXPECT_EQ(bytes_behind("日"), std::nullopt);
}

TEST(Normalize, Composes) {
  EXPECT_EQ(normalize("e\u0301 \u1100\u1161\u11a8 \u212b", Form::nfc), "é \uac01 Å");
  EXPECT_EQ(normalize("a\u0301\u0316", Form::nfc), "á\u0316");
  EXPECT_EQ(normalize("ﬁ x²", Form::nfc), "ﬁ x²");
  EXPECT_EQ(normalize("ﬁ x²", Form::nfkc), "fi x2");
  EXPECT_EQ(normalize("e\u0301", Form::as_is), "e\u0301");
}

TEST(Normalize, TreatsLaterMarksAsTheReferenceDoes) {
  // U+1ABF is a mark of Unicode 13, which the reference does not know: nothing is sorted or joined across it.
  EXPECT_EQ(normalize("e\u1ABF\u0301\u0316", Form::nfc), "e\u1ABF\u0316\u0301");
  EXPECT_EQ(normalize("e\u0301 \ucd94\u11a7", Form::nfc), "é \ucd94\u11a7");  // not a consonant that joins
  EXPECT_EQ(normalize("\U00011935\U00011930", Form::nfc), "\U00011935\U00011930");
}

TEST(Normalize, SeesWhatIsNormalAlready) {
  EXPECT_TRUE(is_surely_normal("plain, straße, 日本語, 한국어", Form::nfc));
  EXPECT_FALSE(is_surely_normal("e\u0301", Form::nfc));
  EXPECT_FALSE(is_surely_normal("\u1161", Form::nfc));
  EXPECT_FALSE(is_surely_normal("x²", Form::nfkc));
}

}  // namespace
}  // namespace plimsoll::tokens
