#include "train/settings_file.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include "base/error.hpp"
#include "base/file.hpp"
#include "train/settings_table.hpp"

namespace plimsoll {
namespace {

constexpr size_t largest_file = 1 << 20;

std::string read_whole(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error) fail_input("cannot read the settings file '{}': {}", path, error.message());
  if (!std::filesystem::is_regular_file(status))
    fail_input("the settings file '{}' is not a file; give a TOML file", path);
  if (std::filesystem::file_size(path, error) > largest_file)
    fail_input("the settings file '{}' is larger than 1 MiB; give a TOML file of settings", path);
  return read_file(path, largest_file);
}

// The text `assign` would read from a flag, or nothing when the TOML type cannot be that setting.
std::optional<std::string> text_for(const Setting& setting, const toml::node& node) {
  return std::visit(
      [&]<typename T>(T Settings::*) -> std::optional<std::string> {
        if constexpr (std::is_same_v<T, bool>) {
          if (auto value = node.as_boolean()) return value->get() ? "true" : "false";
        } else if constexpr (std::is_same_v<T, std::string>) {
          if (auto value = node.as_string()) return value->get();
        } else {
          if (auto value = node.as_integer()) return fmt::format("{}", value->get());
          if constexpr (std::is_same_v<T, double>)
            if (auto value = node.as_floating_point()) return fmt::format("{}", value->get());
        }
        return std::nullopt;
      },
      setting.member);
}

std::string_view type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "a whole number";
    case toml::node_type::floating_point:
      return "a number with a fraction";
    case toml::node_type::boolean:
      return "true or false";
    default:
      return "a date or time";
  }
}

std::string one_line(std::string_view text) {
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < ' '; }, ' ');
  return line;
}

}  // namespace

std::vector<FileSetting> read_settings_file(const std::string& path) {
  std::string text = read_whole(path);
  toml::table parsed;
  try {
    parsed = toml::parse(text, path);
  } catch (const toml::parse_error& e) {
    fail_input("{} line {}: {}", path, e.source().begin.line, one_line(e.description()));
  }
  std::vector<FileSetting> settings;
  for (const auto& [key, node] : parsed) {
    std::string name(key.str()), where = fmt::format("{} line {}", path, key.source().begin.line);
    const Setting* setting = find_setting(name);
    if (!setting || setting->visibility == Visibility::internal)
      fail_input("{}: there is no setting '{}'; did you mean '{}'?", where, one_line(name),
                 nearest_setting(name));
    auto value = text_for(*setting, node);
    if (!value) fail_input("{}: {} is {}; expected {}", where, name, type_name(node), expectation(*setting));
    settings.push_back({name, *value, where});
  }
  return settings;
}

}  // namespace plimsoll
