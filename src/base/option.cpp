#include "base/option.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/toml_file.hpp"

namespace plimsoll {
namespace {

template <typename Number>
bool parse_number(std::string_view text, Number& number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool has_choices(const OptionRow& row) {
  return std::string_view(row.wanted).find('|') != std::string_view::npos;
}

bool is_choice(std::string_view wanted, std::string_view value) {
  while (!wanted.empty()) {
    size_t bar = std::min(wanted.find('|'), wanted.size());
    if (wanted.substr(0, bar) == value) return true;
    wanted.remove_prefix(std::min(bar + 1, wanted.size()));
  }
  return false;
}

bool is_percentage(const OptionRow& row) { return std::string_view(row.name).ends_with("_percentage"); }

bool read(const OptionRow&, int& value, std::string_view text, std::string_view) {
  return parse_number(text, value);
}
bool read(const OptionRow&, uint64_t& value, std::string_view text, std::string_view) {
  return parse_number(text, value);
}
bool read(const OptionRow& row, double& value, std::string_view text, std::string_view where) {
  if (row.is_time()) {
    value = parse_duration(text, where);
    return true;
  }
  // A percentage may be written with its sign.
  if (is_percentage(row) && text.ends_with('%')) text.remove_suffix(1);
  return parse_number(text, value);
}
bool read(const OptionRow&, bool& value, std::string_view text, std::string_view) {
  value = text == "true" || text == "1" || text == "yes" || text == "on";
  return value || text == "false" || text == "0" || text == "no" || text == "off";
}
bool read(const OptionRow&, std::string& value, std::string_view text, std::string_view) {
  value = text;
  return true;
}
bool read(const OptionRow&, std::optional<Size>& value, std::string_view text, std::string_view where) {
  value.reset();
  if (!text.empty()) value = parse_size(text, where);
  return true;
}

// Whether a value of a file can be this option's; numbers with a unit are text there.
bool may_be(const OptionRow& row, ConstOptionField field, TomlValue::Type type) {
  using Type = TomlValue::Type;
  return std::visit(
      [&]<typename T>(const T*) {
        if constexpr (std::is_same_v<T, bool>) return type == Type::boolean;
        if constexpr (std::is_same_v<T, std::string>) return type == Type::text;
        if constexpr (std::is_same_v<T, std::optional<Size>>)
          return type == Type::text || type == Type::integer;
        if constexpr (std::is_same_v<T, double>)
          return type == Type::integer || type == Type::real ||
                 (type == Type::text && (row.is_time() || is_percentage(row)));
        return type == Type::integer;
      },
      field);
}

}  // namespace

std::string OptionRow::flag() const {
  std::string text = std::string("--") + name;
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

std::string OptionRow::negative_flag() const { return "--no-" + flag().substr(2); }

std::string OptionRow::environment() const {
  std::string text = std::string("PLIMSOLL_") + name;
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

std::string expectation_of(const OptionRow& row, ConstOptionField field) {
  return std::visit(
      [&]<typename T>(const T*) -> std::string {
        if constexpr (std::is_same_v<T, bool>) return "true or false";
        if constexpr (std::is_same_v<T, uint64_t>) return "a whole number from 0 to 18446744073709551615";
        if constexpr (std::is_same_v<T, int>)
          return fmt::format("a whole number from {} to {}", int64_t(row.least), int64_t(row.most));
        if constexpr (std::is_same_v<T, double>)
          return fmt::format("{} from {:g} {} {:g}{}", row.is_time() ? "a time" : "a number", row.least,
                             row.below_most ? "to below" : "to", row.most, row.is_time() ? " seconds" : "");
        if constexpr (std::is_same_v<T, std::optional<Size>>)
          return "a size above 0 like 512MB, 1.5GiB or 80%";
        if (has_choices(row)) {
          std::string choices = row.wanted;
          for (size_t at; (at = choices.find('|')) != choices.npos;) choices.replace(at, 1, ", ");
          return "one of " + choices;
        }
        return "text without a zero byte or line break";
      },
      field);
}

void check_field(const OptionRow& row, ConstOptionField field, std::string_view where) {
  const bool good = std::visit(
      [&]<typename T>(const T* value) {
        if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, uint64_t>)
          return true;
        else if constexpr (std::is_same_v<T, std::string>)
          return has_choices(row)
                     ? is_choice(row.wanted, *value)
                     : value->find('\0') == value->npos &&
                           (value->find('\n') == value->npos || std::string_view(row.name) == "prompt");
        else if constexpr (std::is_same_v<T, std::optional<Size>>)
          return !*value || ((*value)->is_share ? (*value)->share > 0 : (*value)->bytes > 0);
        else  // written so that NaN is refused
          return *value >= row.least && (row.below_most ? *value < row.most : *value <= row.most);
      },
      field);
  if (!good) fail_input("{}: '{}' is not {}", where, text_of_field(row, field), expectation_of(row, field));
}

void assign_field(const OptionRow& row, OptionField field, std::string_view text, std::string_view where) {
  std::visit(
      [&](auto* value) {
        if (!read(row, *value, text, where))
          fail_input("{}: '{}' is not {}", where, text, expectation_of(row, value));
        check_field(row, value, where);
      },
      field);
}

std::string text_of_field(const OptionRow& row, ConstOptionField field) {
  return std::visit(
      [&]<typename T>(const T* value) {
        if constexpr (std::is_same_v<T, std::optional<Size>>)
          return *value ? format_size(**value) : std::string();
        else
          return fmt::format("{}{}", *value, row.is_time() ? "s" : "");
      },
      field);
}

GivenByName gather_given(std::span<const OptionShape> table, const char* what, const OptionSources& sources) {
  const auto find = [&](const std::string& name, const std::string& where) -> const OptionShape& {
    std::vector<std::string> names;
    for (const OptionShape& shape : table) {
      if (shape.row->hidden) continue;
      if (shape.row->name == name) return shape;
      names.emplace_back(shape.row->name);
    }
    fail_input("{}there is no {} '{}'; did you mean '{}'?", where, what, name, nearest(name, names));
  };
  GivenByName given;
  if (!sources.file.empty())
    for (const TomlValue& value : read_toml(sources.file)) {
      const OptionShape& shape = find(value.key, value.where + ": ");
      if (!may_be(*shape.row, shape.field, value.type))
        fail_input("{}: {} is {}; expected {}", value.where, value.key, value.words,
                   expectation_of(*shape.row, shape.field));
      given[value.key] = {value.text, value.where, Source::file};
    }
  for (const OptionShape& shape : table) {
    if (shape.row->hidden) continue;
    const std::string name = shape.row->environment();
    const char* text = sources.environment ? sources.environment(name.c_str()) : nullptr;
    if (text && *text) given[shape.row->name] = {text, name, Source::environment};
  }
  for (const auto& [name, text] : sources.command_line) {
    const OptionShape& shape = find(name, "");
    const bool negative = std::holds_alternative<const bool*>(shape.field) && text == "false";
    given[name] = {text, negative ? shape.row->negative_flag() : shape.row->flag(), Source::command_line};
  }
  return given;
}

}  // namespace plimsoll
