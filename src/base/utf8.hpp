// Strict UTF-8: no overlong forms, no surrogates, nothing beyond U+10FFFF, no truncated characters.
#pragma once
#include <span>
#include <string>

namespace plimsoll {

struct CodePoint {
  char32_t value;
  int bytes;  // 0: what stands here is not UTF-8
};

// The code point at the start of `text`, which must not be empty.
CodePoint first_code_point(std::span<const unsigned char> text);
// Whether a code point may occur in UTF-8 at all.
constexpr bool is_scalar(char32_t value) { return value < 0xD800 || (value > 0xDFFF && value <= 0x10FFFF); }
// `value` must be a scalar.
void append_utf8(std::string& text, char32_t value);
// As an error message should show it: 'a' (U+0061), or U+0007 alone where it cannot be printed.
std::string show_code_point(char32_t value);

inline std::span<const unsigned char> bytes_of(std::string_view text) {
  return {reinterpret_cast<const unsigned char*>(text.data()), text.size()};
}

}  // namespace plimsoll
