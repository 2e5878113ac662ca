// Bytes as base64 text.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll {

inline std::string to_base64(std::string_view bytes) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t left = std::min<size_t>(3, bytes.size() - i);
    uint32_t held = 0;
    for (size_t k = 0; k < 3; ++k)
      held = held << 8 | (k < left ? static_cast<unsigned char>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k) text += k <= left ? letters[held >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

}  // namespace plimsoll
