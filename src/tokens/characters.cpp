#include "tokens/characters.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <span>

#include "base/utf8.hpp"

namespace plimsoll::tokens {
namespace {

struct Range {
  char32_t first, last;
};

bool contains(std::span<const Range> ranges, char32_t value) {
  const auto* found = std::lower_bound(ranges.data(), ranges.data() + ranges.size(), value,
                                       [](const Range& range, char32_t v) { return range.last < v; });
  return found != ranges.data() + ranges.size() && found->first <= value;
}

// Assigned after Unicode 14. The reference knows Unicode 16; Debian's utf8proc may know less.
constexpr Range later_letters[] = {
    {0x1C89, 0x1C8A},   {0xA7CB, 0xA7CD},   {0xA7DA, 0xA7DC},   {0x105C0, 0x105F3}, {0x10D4A, 0x10D65},
    {0x10D6F, 0x10D85}, {0x10EC2, 0x10EC4}, {0x1123F, 0x11240}, {0x11380, 0x11389}, {0x1138B, 0x1138B},
    {0x1138E, 0x1138E}, {0x11390, 0x113B5}, {0x113B7, 0x113B7}, {0x113D1, 0x113D1}, {0x113D3, 0x113D3},
    {0x11BC0, 0x11BE0}, {0x11F02, 0x11F02}, {0x11F04, 0x11F10}, {0x11F12, 0x11F33}, {0x1342F, 0x1342F},
    {0x13441, 0x13446}, {0x13460, 0x143FA}, {0x16100, 0x1611D}, {0x16D40, 0x16D6C}, {0x18CFF, 0x18CFF},
    {0x1B132, 0x1B132}, {0x1B155, 0x1B155}, {0x1DF25, 0x1DF2A}, {0x1E030, 0x1E06D}, {0x1E4D0, 0x1E4EB},
    {0x1E5D0, 0x1E5ED}, {0x1E5F0, 0x1E5F0}, {0x2B739, 0x2B739}, {0x2EBF0, 0x2EE5D}, {0x31350, 0x323AF}};
constexpr Range later_numbers[] = {
    {0x10D40, 0x10D49}, {0x116D0, 0x116E3}, {0x11BF0, 0x11BF9}, {0x11F50, 0x11F59}, {0x16130, 0x16139},
    {0x16D70, 0x16D79}, {0x1CCF0, 0x1CCF9}, {0x1D2C0, 0x1D2D3}, {0x1E4F0, 0x1E4F9}, {0x1E5F1, 0x1E5FA}};
// Of Unicode 17, which only Rust's own tables know.
constexpr Range latest_numbers[] = {{0x11DE0, 0x11DE9}, {0x16FF4, 0x16FF6}};
constexpr Range spaces[] = {{0x09, 0x0D},     {0x20, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},
                            {0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F},
                            {0x205F, 0x205F}, {0x3000, 0x3000}};
// Letters in circles and squares: alphabetic, though not letters.
constexpr Range enclosed_letters[] = {
    {0x24B6, 0x24E9}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}};

// Bytes that stand for themselves in byte-level vocabularies.
constexpr bool shows_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
}

struct Alphabet {
  std::array<char16_t, 256> character{};  // of a byte
  std::array<int16_t, 0x144> byte{};      // of a character, or -1
  Alphabet() {
    byte.fill(-1);
    char16_t next = 0x100;
    for (int b = 0; b < 256; ++b) {
      character[size_t(b)] = shows_itself(b) ? char16_t(b) : next++;
      byte[character[size_t(b)]] = int16_t(b);
    }
  }
};
const Alphabet alphabet;

}  // namespace

const std::array<Class, Classes::table_size>& Classes::table() {
  static const auto made = [] {
    std::array<Class, table_size> classes;
    for (size_t value = 0; value < table_size; ++value) classes[value] = find_class(char32_t(value));
    return classes;
  }();
  return made;
}

Class find_class(char32_t value) {
  if (contains(spaces, value)) return Class::space;
  switch (utf8proc_category(utf8proc_int32_t(value))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return Class::letter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return contains(latest_numbers, value) ? Class::other : Class::number;
    case UTF8PROC_CATEGORY_CN:
      return contains(later_letters, value)   ? Class::letter
             : contains(later_numbers, value) ? Class::number
                                              : Class::other;
    default:
      return Class::other;
  }
}

bool is_numeric(char32_t value) {
  return find_class(value) == Class::number || contains(latest_numbers, value);
}

bool is_word(char32_t value) {
  if (find_class(value) == Class::letter || value == 0x200C || value == 0x200D) return true;
  switch (utf8proc_category(utf8proc_int32_t(value))) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      return contains(enclosed_letters, value);
  }
}

std::optional<std::string> bytes_behind(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Character c = first_character(text.data() + at);
    if (c.value >= alphabet.byte.size() || alphabet.byte[c.value] < 0) return std::nullopt;
    bytes += char(alphabet.byte[c.value]);
    at += size_t(c.bytes);
  }
  return bytes;
}

std::string shown_byte(unsigned char byte) {
  std::string text;
  append_utf8(text, alphabet.character[byte]);
  return text;
}

}  // namespace plimsoll::tokens
