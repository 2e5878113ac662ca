#include "base/utf8.hpp"

#include <fmt/format.h>

namespace plimsoll {

CodePoint first_code_point(std::span<const unsigned char> text) {
  constexpr CodePoint invalid{0, 0};
  const unsigned char lead = text[0];
  if (lead < 0x80) return {lead, 1};
  int bytes;
  char32_t value, least;  // least: what fewer bytes could say is overlong here
  if ((lead & 0xE0) == 0xC0)
    bytes = 2, value = lead & 0x1F, least = 0x80;
  else if ((lead & 0xF0) == 0xE0)
    bytes = 3, value = lead & 0x0F, least = 0x800;
  else if ((lead & 0xF8) == 0xF0)
    bytes = 4, value = lead & 0x07, least = 0x10000;
  else
    return invalid;
  if (text.size() < static_cast<size_t>(bytes)) return invalid;
  for (int i = 1; i < bytes; ++i) {
    if ((text[i] & 0xC0) != 0x80) return invalid;
    value = value << 6 | (text[i] & 0x3F);
  }
  if (value < least || !is_scalar(value)) return invalid;
  return {value, bytes};
}

void append_utf8(std::string& text, char32_t value) {
  auto tail = [&](int shift) { text += static_cast<char>(0x80 | (value >> shift & 0x3F)); };
  if (value < 0x80) {
    text += static_cast<char>(value);
  } else if (value < 0x800) {
    text += static_cast<char>(0xC0 | value >> 6);
    tail(0);
  } else if (value < 0x10000) {
    text += static_cast<char>(0xE0 | value >> 12);
    tail(6), tail(0);
  } else {
    text += static_cast<char>(0xF0 | value >> 18);
    tail(12), tail(6), tail(0);
  }
}

std::string show_code_point(char32_t value) {
  const auto number = static_cast<uint32_t>(value);
  const bool unprintable =
      value < 0x20 || (value >= 0x7F && value < 0xA0) || (value >= 0x2028 && value <= 0x202E);
  if (unprintable) return fmt::format("U+{:04X}", number);
  std::string text;
  append_utf8(text, value);
  return fmt::format("'{}' (U+{:04X})", text, number);
}

}  // namespace plimsoll
