#include "base/toml_file.hpp"

// toml++ 3.3 asserts, and under NDEBUG lets the compiler assume, what a malformed file contradicts ("[}"); its parser
// goes on to refuse such a file properly.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expression) static_assert(true)
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"

namespace plimsoll {
namespace {

constexpr uint64_t largest_file = 1 << 20;

std::string one_line(std::string_view text) {
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < ' ' || c == 127; }, ' ');
  return line;
}

// The parser bounds brackets, but `a.a.a.… = 1` makes a table in a table for every dot, and taking such a value
// apart recurses. The first line with more dots than this outside of strings and comments; 0: none.
size_t line_nested_too_deep(std::string_view text) {
  constexpr size_t most_dots = 100;
  size_t line = 1, dots = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      ++line, dots = 0;
    } else if (c == '#') {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else if (c == '"' || c == '\'') {
      const std::string_view three = text.substr(i, 3);
      const size_t quotes = three == std::string(3, c) ? 3 : 1;
      for (i += quotes; i < text.size() && text.substr(i, quotes) != three.substr(0, quotes); ++i) {
        if (text[i] == '\\' && c == '"') ++i;
        if (i < text.size() && text[i] == '\n') ++line;
      }
      i += quotes - 1;
    } else if (c == '.' && ++dots > most_dots) {
      return line;
    }
  }
  return 0;
}

void take(TomlValue& value, const toml::node& node) {
  using Type = TomlValue::Type;
  const auto is = [&](Type type, const char* words, std::string text) {
    value.type = type;
    value.words = words;
    value.text = std::move(text);
  };
  if (auto text = node.as_string()) return is(Type::text, "a string", text->get());
  if (auto number = node.as_integer())
    return is(Type::integer, "a whole number", fmt::format("{}", number->get()));
  if (auto number = node.as_floating_point())
    return is(Type::real, "a number with a fraction", fmt::format("{}", number->get()));
  if (auto truth = node.as_boolean())
    return is(Type::boolean, "true or false", truth->get() ? "true" : "false");
  is(Type::other, node.is_table() ? "a table" : node.is_array() ? "an array" : "a date or time", "");
}

}  // namespace

std::vector<TomlValue> read_toml(const std::string& path) {
  const std::string text = read_file(path, largest_file);
  if (const size_t line = line_nested_too_deep(text))
    fail_input("{} line {}: tables nest too deep; settings are flat keys like layers = 2", path, line);
  toml::table parsed;
  try {
    parsed = toml::parse(text, path);
  } catch (const toml::parse_error& e) {
    fail_input("{} line {}: {}", path, e.source().begin.line, one_line(e.description()));
  }
  std::vector<TomlValue> values;
  for (const auto& [key, node] : parsed) {
    TomlValue& value = values.emplace_back();
    value.key = one_line(key.str());
    value.where = fmt::format("{} line {}", path, key.source().begin.line);
    take(value, node);
  }
  return values;
}

}  // namespace plimsoll
