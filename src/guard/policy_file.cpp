#include "guard/policy_file.hpp"

#include <toml++/toml.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/file.hpp"

namespace plimsoll::guard {
namespace {

std::string one_line(std::string_view text) {
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < ' ' || c == 127; }, ' ');
  return line;
}

}  // namespace

std::vector<FileValue> read_policy_file(const std::string& path) {
  const std::string text = read_file(path, 1 << 20);
  toml::table parsed;
  try {
    parsed = toml::parse(text, path);
  } catch (const toml::parse_error& e) {
    fail_input("{} line {}: {}", path, e.source().begin.line, one_line(e.description()));
  }
  std::vector<FileValue> values;
  for (const auto& [key, node] : parsed) {
    FileValue value{one_line(key.str()), "", fmt::format("{} line {}", path, key.source().begin.line)};
    if (auto string = node.as_string())
      value.text = string->get();
    else if (auto integer = node.as_integer())
      value.text = fmt::format("{}", integer->get());
    else if (auto number = node.as_floating_point())
      value.text = fmt::format("{}", number->get());
    else
      fail_input("{}: {} is neither a number nor text; write it like max_memory = \"8GB\"", value.where,
                 value.key);
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace plimsoll::guard
