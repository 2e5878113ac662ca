// What the patterns of byte-level tokenizers ask of a character, and how those tokenizers write bytes as characters.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll::tokens {

// \p{L}, \p{N}, \s, and the rest. No character is two of them.
enum class Class : uint8_t { other, letter, number, space };

struct Character {
  char32_t value;
  int bytes;
};

// The first character of text that is known to be UTF-8 and not empty.
inline Character first_character(const char* text) {
  const auto* p = reinterpret_cast<const unsigned char*>(text);
  if (p[0] < 0x80) return {p[0], 1};
  if (p[0] < 0xE0) return {char32_t(p[0] & 0x1F) << 6 | (p[1] & 0x3F), 2};
  if (p[0] < 0xF0) return {char32_t(p[0] & 0x0F) << 12 | char32_t(p[1] & 0x3F) << 6 | (p[2] & 0x3F), 3};
  return {
      char32_t(p[0] & 0x07) << 18 | char32_t(p[1] & 0x3F) << 12 | char32_t(p[2] & 0x3F) << 6 | (p[3] & 0x3F),
      4};
}

// Of any code point; the slow way.
Class find_class(char32_t value);

// Classes by table for the first 64 Ki characters. The table is made when it is first asked for.
class Classes {
 public:
  Classes() : low_(table().data()) {}
  Class operator()(char32_t value) const { return value < table_size ? low_[value] : find_class(value); }

 private:
  static constexpr size_t table_size = 0x10000;
  static const std::array<Class, table_size>& table();
  const Class* low_;
};

// What Rust's char::is_numeric says: the numbers of a later Unicode than the patterns know.
bool is_numeric(char32_t value);
// \w of Rust's regular expressions.
bool is_word(char32_t value);

// Byte-level vocabularies write each byte as a printable character: itself where it is one, else one from U+0100 on.
// A space is 'Ġ'. The bytes behind such a text; nothing if a character stands for no byte.
std::optional<std::string> bytes_behind(std::string_view text);
// The character of a byte, as UTF-8.
std::string shown_byte(unsigned char byte);

}  // namespace plimsoll::tokens
