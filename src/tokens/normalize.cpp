#include "tokens/normalize.hpp"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>
#include <new>

#include "tokens/characters.hpp"

namespace plimsoll::tokens {
namespace {

struct Span32 {
  char32_t first, last;
};

// Characters that combine or decompose, assigned after Unicode 10. The reference normalizes by the tables of that
// version, where each of them is unassigned: it stays, and nothing combines across it. U+11A7, a vowel, is kept apart
// because utf8proc 2.8 loses it behind a Hangul syllable.
constexpr Span32 unknown_to_reference[] = {
    {0x07FD, 0x07FD},   {0x0898, 0x089F},   {0x08CA, 0x08D3},   {0x09FE, 0x09FE},   {0x0C3C, 0x0C3C},
    {0x0D3B, 0x0D3C},   {0x0EBA, 0x0EBA},   {0x11A7, 0x11A7},   {0x1715, 0x1715},   {0x1ABF, 0x1ACE},
    {0x1DF6, 0x1DFA},   {0x32FF, 0x32FF},   {0xA7F2, 0xA7F4},   {0xA82C, 0xA82C},   {0xAB69, 0xAB69},
    {0x10781, 0x10785}, {0x10787, 0x107B0}, {0x107B2, 0x107BA}, {0x10D24, 0x10D27}, {0x10EAB, 0x10EAC},
    {0x10EFD, 0x10EFF}, {0x10F46, 0x10F50}, {0x10F82, 0x10F85}, {0x11070, 0x11070}, {0x1133B, 0x1133B},
    {0x1145E, 0x1145E}, {0x11839, 0x1183A}, {0x11930, 0x11930}, {0x11935, 0x11935}, {0x11938, 0x11938},
    {0x1193D, 0x1193E}, {0x11943, 0x11943}, {0x119E0, 0x119E0}, {0x11A34, 0x11A34}, {0x11A47, 0x11A47},
    {0x11A99, 0x11A99}, {0x11D42, 0x11D42}, {0x11D44, 0x11D45}, {0x11D97, 0x11D97}, {0x11F41, 0x11F42},
    {0x16FF0, 0x16FF1}, {0x1E030, 0x1E06D}, {0x1E08F, 0x1E08F}, {0x1E130, 0x1E136}, {0x1E2AE, 0x1E2AE},
    {0x1E2EC, 0x1E2EF}, {0x1E4EC, 0x1E4EF}, {0x1F16C, 0x1F16C}, {0x1FBF0, 0x1FBF9}};

bool is_unknown_to_reference(char32_t value) {
  if (value < unknown_to_reference[0].first) return false;
  for (const Span32& span : unknown_to_reference)
    if (value <= span.last) return value >= span.first;
  return false;
}

struct Free {
  void operator()(utf8proc_uint8_t* text) const { std::free(text); }
};

void append_normalized(std::string& out, std::string_view text, Form form) {
  if (text.empty()) return;
  int options = UTF8PROC_STABLE | UTF8PROC_COMPOSE;
  if (form == Form::nfkc) options |= UTF8PROC_COMPAT;
  utf8proc_uint8_t* mapped = nullptr;
  const utf8proc_ssize_t bytes =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), utf8proc_ssize_t(text.size()),
                   &mapped, utf8proc_option_t(options));
  const std::unique_ptr<utf8proc_uint8_t, Free> owned(mapped);
  if (bytes < 0) throw std::bad_alloc();  // the text is UTF-8, so nothing else can go wrong
  out.append(reinterpret_cast<const char*>(mapped), size_t(bytes));
}

bool is_jamo_that_joins(char32_t value) {
  return (value >= 0x1161 && value <= 0x1175) || (value >= 0x11A8 && value <= 0x11C2);
}

}  // namespace

bool is_surely_normal(std::string_view text, Form form) {
  if (form == Form::as_is) return true;
  // Below these nothing combines or is replaced.
  const char32_t least = form == Form::nfc ? 0x300 : 0xA0;
  for (size_t at = 0; at < text.size();) {
    const Character c = first_character(text.data() + at);
    at += size_t(c.bytes);
    if (c.value < least) continue;
    const utf8proc_property_t& property = *utf8proc_get_property(utf8proc_int32_t(c.value));
    const bool mark = property.category >= UTF8PROC_CATEGORY_MN && property.category <= UTF8PROC_CATEGORY_ME;
    if (mark || property.decomp_seqindex != UINT16_MAX || is_jamo_that_joins(c.value)) return false;
  }
  return true;
}

std::string normalize(std::string_view text, Form form) {
  if (is_surely_normal(text, form)) return std::string(text);
  std::string out;
  out.reserve(text.size());
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const Character c = first_character(text.data() + at);
    if (is_unknown_to_reference(c.value)) {
      append_normalized(out, text.substr(begin, at - begin), form);
      out.append(text, at, size_t(c.bytes));
      begin = at + size_t(c.bytes);
    }
    at += size_t(c.bytes);
  }
  append_normalized(out, text.substr(begin), form);
  return out;
}

}  // namespace plimsoll::tokens
