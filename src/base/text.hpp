// Helpers for reading the kernel's text files: fields, numbers, lines. Nothing here throws or allocates.
#pragma once
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace plimsoll::text {

inline bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Takes the next word off the front; empty at the end.
inline std::string_view next_word(std::string_view& rest) {
  while (!rest.empty() && is_space(rest.front())) rest.remove_prefix(1);
  size_t length = 0;
  while (length < rest.size() && !is_space(rest[length])) ++length;
  std::string_view word = rest.substr(0, length);
  rest.remove_prefix(length);
  return word;
}

// Takes the next line off the front, without its newline.
inline std::string_view next_line(std::string_view& rest) {
  size_t end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return line;
}

template <typename Number>
std::optional<Number> number(std::string_view word, int base = 10) {
  Number value{};
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, base);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

// "Pss:   281 kB" with key "Pss:" gives 281 * 1024; nullopt where the line has another key or no number.
// Saturates.
inline std::optional<uint64_t> kilobytes(std::string_view line, std::string_view key) {
  if (!line.starts_with(key)) return std::nullopt;
  line.remove_prefix(key.size());
  auto value = number<uint64_t>(next_word(line));
  if (!value) return std::nullopt;
  return *value > UINT64_MAX / 1024 ? UINT64_MAX : *value * 1024;
}

inline uint64_t add_saturating(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

}  // namespace plimsoll::text
