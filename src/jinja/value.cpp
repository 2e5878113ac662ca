#include "jinja/value.hpp"

#include <algorithm>
#include <cmath>

namespace plimsoll::jinja {
namespace {

int depth_of(const Value& value) {
  if (const List* list = as_list(value)) return list->depth;
  if (const Dict* dict = as_dict(value)) return dict->depth;
  if (const auto* method = std::get_if<std::shared_ptr<const Method>>(&value))
    return 1 + depth_of((*method)->self);
  return 0;
}

// Values are freed by recursion, and printed so.
int checked_depth(int deepest_part) {
  if (deepest_part >= Budget::deepest_value)
    fail_input("the chat template nests lists deeper than {}", Budget::deepest_value);
  return deepest_part + 1;
}

// Python's repr of a number.
std::string print_double(double number) {
  std::string text = fmt::format("{}", number);
  if (text.find_first_not_of("-0123456789") == text.npos) text += ".0";
  return text;
}

// Python's repr of a text.
std::string quoted(const std::string& text) {
  const char quote = text.find('\'') != text.npos && text.find('"') == text.npos ? '"' : '\'';
  std::string out(1, quote);
  for (const std::string_view character : characters(text)) {
    const auto byte = static_cast<unsigned char>(character[0]);
    if (character[0] == quote || byte == '\\')
      (out += '\\') += character;
    else if (byte == '\n')
      out += "\\n";
    else if (byte == '\r')
      out += "\\r";
    else if (byte == '\t')
      out += "\\t";
    else if (byte < 0x20 || byte == 0x7f)
      out += fmt::format("\\x{:02x}", byte);
    else if (byte == 0xc2 && character.size() == 2 && static_cast<unsigned char>(character[1]) <= 0xa0)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(character[1]));
    else
      out += character;
  }
  return out + quote;
}

void check_size(const std::string& out, Budget& budget, size_t before) {
  budget.spend_bytes(out.size() - before);
  if (out.size() > Budget::most_bytes) fail_input("the chat template makes a text of more than 4 MiB");
}

void write_repr(std::string& out, const Value& value, Budget& budget);

void write_items(std::string& out, const std::vector<Value>& items, Budget& budget) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i) out += ", ";
    write_repr(out, items[i], budget);
  }
}

void write_list(std::string& out, const List& list, Budget& budget) {
  if (list.shape == Shape::generator || list.shape == Shape::range)
    fail_input("the chat template prints {}", kind_of(make_list({}, list.shape)));
  if (list.shape == Shape::tuple) {
    out += '(';
    write_items(out, list.items, budget);
    out += list.items.size() == 1 ? ",)" : ")";
    return;
  }
  const char* name = list.shape == Shape::keys     ? "dict_keys("
                     : list.shape == Shape::values ? "dict_values("
                     : list.shape == Shape::items  ? "dict_items("
                                                   : "";
  (out += name) += '[';
  write_items(out, list.items, budget);
  out += *name ? "])" : "]";
}

void write_repr(std::string& out, const Value& value, Budget& budget) {
  const size_t before = out.size();
  if (const std::string* text = as_text(value)) {
    out += quoted(*text);
  } else if (is_undefined(value)) {
    out += "Undefined";
  } else if (is_none(value)) {
    out += "None";
  } else if (const bool* flag = std::get_if<bool>(&value)) {
    out += *flag ? "True" : "False";
  } else if (const int64_t* integer = std::get_if<int64_t>(&value)) {
    out += std::to_string(*integer);
  } else if (const double* number = std::get_if<double>(&value)) {
    out += print_double(*number);
  } else if (const List* list = as_list(value)) {
    write_list(out, *list, budget);
  } else if (const Dict* dict = as_dict(value)) {
    out += '{';
    for (const auto& [key, entry] : dict->entries) {
      if (&key != &dict->entries[0].first) out += ", ";
      write_repr(out, key, budget);
      out += ": ";
      write_repr(out, entry, budget);
    }
    out += '}';
  } else {
    fail_input("the chat template prints {}", kind_of(value));
  }
  check_size(out, budget, before);
}

// The code point of one character of valid UTF-8.
uint32_t code_point(std::string_view character) {
  const auto byte = [&](size_t i) { return uint32_t(static_cast<unsigned char>(character[i])); };
  if (character.size() == 1) return byte(0);
  uint32_t code = byte(0) & (0x7fu >> character.size());
  for (size_t i = 1; i < character.size(); ++i) code = code << 6 | (byte(i) & 0x3f);
  return code;
}

std::string json_string(const std::string& text, bool ascii) {
  std::string out = "\"";
  for (const std::string_view character : characters(text)) {
    constexpr std::string_view plain = "\"\\\n\r\t\f\b", escaped = "\"\\nrtfb";
    const uint32_t code = code_point(character);
    if (const size_t at = code < 0x80 ? plain.find(char(code)) : plain.npos; at != plain.npos)
      (out += '\\') += escaped[at];
    else if (code >= 0x10000 && ascii)
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
    else if (code < 0x20 || (ascii && code >= 0x7f + 1))
      out += fmt::format("\\u{:04x}", code);
    else
      out += character;
  }
  return out + '"';
}

class JsonWriter {
 public:
  JsonWriter(const JsonStyle& style, Budget& budget) : style_(style), budget_(budget) {}
  std::string out;

  void write(const Value& value, int level) {
    const size_t before = out.size();
    if (const std::string* text = as_text(value)) {
      out += json_string(*text, style_.ascii);
    } else if (const List* list = as_list(value); list && list->shape <= Shape::tuple) {
      out += '[';
      for (const Value& item : list->items) {
        separate(&item == &list->items[0], level + 1);
        write(item, level + 1);
      }
      close(list->items.empty(), level, ']');
    } else if (const Dict* dict = as_dict(value)) {
      write_dict(*dict, level);
    } else {
      out += scalar(value);
    }
    check_size(out, budget_, before);
  }

 private:
  static std::string scalar(const Value& value) {
    if (is_none(value)) return "null";
    if (const bool* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
    if (const int64_t* integer = std::get_if<int64_t>(&value)) return std::to_string(*integer);
    if (const double* number = std::get_if<double>(&value)) {
      if (std::isnan(*number)) return "NaN";
      if (std::isinf(*number)) return *number < 0 ? "-Infinity" : "Infinity";
      return print_double(*number);
    }
    fail_input("the chat template writes {} as JSON", kind_of(value));
  }

  void write_dict(const Dict& dict, int level) {
    out += '{';
    std::vector<const std::pair<Value, Value>*> entries;
    for (const auto& entry : dict.entries) entries.push_back(&entry);
    if (style_.sorted)
      std::stable_sort(entries.begin(), entries.end(),
                       [&](auto* a, auto* b) { return less(a->first, b->first, budget_); });
    for (const auto* entry : entries) {
      separate(entry == entries[0], level + 1);
      const std::string* text = as_text(entry->first);
      out += json_string(text ? *text : scalar(entry->first), style_.ascii) + style_.colon;
      write(entry->second, level + 1);
    }
    close(entries.empty(), level, '}');
  }

  void separate(bool first, int level) {
    if (!first) out += style_.comma;
    start_line(level);
  }
  void close(bool empty, int level, char bracket) {
    if (!empty) start_line(level);
    out += bracket;
  }
  void start_line(int level) {
    if (!style_.indent) return;
    out += '\n';
    budget_.spend_bytes(size_t(level) * style_.indent->size());
    for (int i = 0; i < level; ++i) out += *style_.indent;
  }

  const JsonStyle& style_;
  Budget& budget_;
};

}  // namespace

const Value* Dict::find(const Value& key, Budget& budget) const {
  budget.spend(1 + entries.size() / 16);
  if (const std::string* text = as_text(key)) return find(*text);
  if (as_dict(key) || (as_list(key) && as_list(key)->shape == Shape::list))
    fail_input("the chat template uses {} as a key", kind_of(key));
  for (const auto& [name, value] : entries)
    if (equal(name, key, budget)) return &value;
  return nullptr;
}

const Value* Dict::find(std::string_view key) const {
  for (const auto& [name, value] : entries)
    if (const std::string* text = as_text(name); text && *text == key) return &value;
  return nullptr;
}

std::vector<std::optional<Value>> Arguments::bind(std::string_view who,
                                                  const std::vector<std::string_view>& names,
                                                  size_t least) const {
  std::vector<std::optional<Value>> bound(names.size());
  if (positional.size() > names.size()) fail_input("the chat template gives '{}' too many arguments", who);
  for (size_t i = 0; i < positional.size(); ++i) bound[i] = positional[i];
  for (const auto& [name, value] : named) {
    const size_t at = size_t(std::find(names.begin(), names.end(), name) - names.begin());
    if (at == names.size() || bound[at])
      fail_input("the chat template gives '{}' the argument '{}', which is not known", who, name);
    bound[at] = value;
  }
  for (size_t i = 0; i < least; ++i)
    if (!bound[i]) fail_input("the chat template gives '{}' too few arguments", who);
  return bound;
}

Value make_text(std::string text, Budget& budget) {
  check_size(text, budget, 0);
  return std::make_shared<const std::string>(std::move(text));
}

Value make_list(std::vector<Value> items, Shape shape) {
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, depth_of(item));
  return std::make_shared<const List>(List{std::move(items), shape, checked_depth(depth)});
}

Value make_dict(std::vector<std::pair<Value, Value>> entries) {
  int depth = 0;
  for (const auto& [key, value] : entries) depth = std::max({depth, depth_of(key), depth_of(value)});
  return std::make_shared<const Dict>(Dict{std::move(entries), checked_depth(depth)});
}

Value from_json(const nlohmann::ordered_json& json, int depth) {
  checked_depth(depth);
  if (json.is_string()) return std::make_shared<const std::string>(json.get_ref<const std::string&>());
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_unsigned() && json.get<uint64_t>() > uint64_t(INT64_MAX)) return json.get<double>();
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_array()) {
    std::vector<Value> items;
    for (const auto& item : json) items.push_back(from_json(item, depth + 1));
    return make_list(std::move(items));
  }
  if (json.is_object()) {
    std::vector<std::pair<Value, Value>> entries;
    for (const auto& [key, value] : json.items())
      entries.emplace_back(std::make_shared<const std::string>(key), from_json(value, depth + 1));
    return make_dict(std::move(entries));
  }
  return None{};
}

std::string to_text(const Value& value, Budget& budget) {
  if (const std::string* text = as_text(value)) return *text;
  if (is_undefined(value)) return "";
  std::string out;
  write_repr(out, value, budget);
  return out;
}

std::string to_json(const Value& value, const JsonStyle& style, Budget& budget) {
  JsonWriter writer(style, budget);
  writer.write(value, 0);
  return writer.out;
}

}  // namespace plimsoll::jinja
