#include "tokens/scanner.hpp"

#include "tokens/characters.hpp"

namespace plimsoll::tokens {
namespace {

// A place in the text and what stands there.
struct Cursor {
  const char* at;
  const char* end;
  Classes class_of;
  char32_t value = 0;
  Class kind = Class::other;
  int bytes = 0;  // 0 at the end

  Cursor(const char* place, const char* text_end) : at(place), end(text_end) { look(); }
  void look() {
    if (at == end) {
      bytes = 0;
      return;
    }
    const Character c = first_character(at);
    value = c.value, bytes = c.bytes, kind = class_of(c.value);
  }
  void advance() {
    at += bytes;
    look();
  }
  bool ended() const { return bytes == 0; }
  bool is(Class wanted) const { return bytes && kind == wanted; }
  bool is_newline() const { return bytes && (value == '\n' || value == '\r'); }
  void skip(Class wanted) {
    while (is(wanted)) advance();
  }
};

// The bytes of 's, 't, 're, 've, 'm, 'll or 'd, 0 if none is there. Ignoring case, 's is also 'ſ: U+017F folds to s.
size_t contraction(std::string_view text, bool ignore_case) {
  if (text.size() < 2 || text[0] != '\'') return 0;
  auto letter = [&](size_t at) {
    const char c = at < text.size() ? text[at] : '\0';
    return ignore_case && c >= 'A' && c <= 'Z' ? char(c | 0x20) : c;
  };
  const char first = letter(1), second = letter(2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  if ((second == 'e' && (first == 'r' || first == 'v')) || (first == 'l' && second == 'l')) return 3;
  if (ignore_case && text.substr(1).starts_with("\u017F")) return 3;
  return 0;
}

// \s+(?!\S)|\s+ from `start`: a run of spaces, without its last one if something follows and it is not alone.
size_t scan_spaces(Cursor start) {
  const char* const begin = start.at;
  const char* last = begin;
  for (; start.is(Class::space); start.advance()) last = start.at;
  return size_t((start.ended() || last == begin ? start.at : last) - begin);
}

// The patterns of Llama-3 and Qwen2 differ in how many digits stay together.
template <int most_digits>
size_t scan_modern(std::string_view text) {
  if (const size_t bytes = contraction(text, true)) return bytes;
  const char* const begin = text.data();
  Cursor cursor(begin, begin + text.size());
  if (cursor.is(Class::number)) {
    for (int digits = 0; digits < most_digits && cursor.is(Class::number); ++digits) cursor.advance();
    return size_t(cursor.at - begin);
  }
  const Cursor first = cursor;
  if (!cursor.is(Class::letter)) cursor.advance();
  if (cursor.is(Class::letter) && !first.is_newline()) {
    cursor.skip(Class::letter);
    return size_t(cursor.at - begin);
  }
  if (!first.is(Class::space) || (first.value == ' ' && cursor.is(Class::other))) {
    cursor.skip(Class::other);
    while (cursor.is_newline()) cursor.advance();
    return size_t(cursor.at - begin);
  }
  // \s*[\r\n]+ ends after the last newline of the run.
  const char* after_newline = nullptr;
  for (cursor = first; cursor.is(Class::space);) {
    const bool newline = cursor.is_newline();
    cursor.advance();
    if (newline) after_newline = cursor.at;
  }
  return after_newline ? size_t(after_newline - begin) : scan_spaces(first);
}

struct KnownPattern {
  std::string_view pattern;
  Scanner scanner;
};
constexpr KnownPattern known_patterns[] = {
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", scan_gpt2},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     scan_llama3},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     scan_qwen2},
};

}  // namespace

size_t scan_gpt2(std::string_view text) {
  if (const size_t bytes = contraction(text, false)) return bytes;
  const char* const begin = text.data();
  Cursor cursor(begin, begin + text.size());
  const Cursor first = cursor;
  if (cursor.value == ' ') cursor.advance();
  if (cursor.ended() || cursor.is(Class::space)) return scan_spaces(first);
  cursor.skip(cursor.kind);
  return size_t(cursor.at - begin);
}

size_t scan_llama3(std::string_view text) { return scan_modern<3>(text); }
size_t scan_qwen2(std::string_view text) { return scan_modern<1>(text); }

Scanner find_scanner(std::string_view pattern) {
  for (const KnownPattern& known : known_patterns)
    if (known.pattern == pattern) return known.scanner;
  return nullptr;
}

}  // namespace plimsoll::tokens
