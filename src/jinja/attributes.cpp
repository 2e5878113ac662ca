// What stands behind a dot or in brackets: entries of dicts, items of lists, and methods.
#include <algorithm>

#include "jinja/value.hpp"

namespace plimsoll::jinja {
namespace {

using Names = std::vector<std::string_view>;

const Names text_methods = {"strip",        "lstrip",       "rstrip",   "split", "rsplit",
                            "splitlines",   "startswith",   "endswith", "upper", "lower",
                            "title",        "capitalize",   "replace",  "find",  "rfind",
                            "removeprefix", "removesuffix", "count",    "join"};
const Names dict_methods = {"items", "keys", "values", "get"};
// Those of Python that are not here. Python has them, so they are not undefined either.
const Names other_text_methods = {
    "casefold",  "center",      "encode",  "expandtabs", "format",   "format_map",   "index",
    "isalnum",   "isalpha",     "isascii", "isdecimal",  "isdigit",  "isidentifier", "islower",
    "isnumeric", "isprintable", "isspace", "istitle",    "isupper",  "ljust",        "maketrans",
    "partition", "rindex",      "rjust",   "rpartition", "swapcase", "translate",    "zfill"};
const Names other_dict_methods = {"clear", "copy", "fromkeys", "pop", "popitem", "setdefault", "update"};
const Names other_list_methods = {"append", "clear",  "copy",    "count", "extend", "index",
                                  "insert", "remove", "reverse", "sort",  "pop"};

bool has(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::optional<Value> find_method(const Value& value, const std::string& name) {
  const bool text = as_text(value), dict = as_dict(value);
  if ((text && has(text_methods, name)) || (dict && has(dict_methods, name)))
    return std::make_shared<const Method>(Method{value, name});
  const List* list = as_list(value);
  if ((text && has(other_text_methods, name)) || (dict && has(other_dict_methods, name)) ||
      (list && list->shape == Shape::list && has(other_list_methods, name)))
    fail_input("the chat template uses the method '{}' of {}, which is not known", name, kind_of(value));
  return std::nullopt;
}

// An attribute of a running loop.
Value loop_attribute(const Loop& loop, const std::string& name) {
  const auto index = int64_t(loop.index), length = int64_t(loop.items.size());
  if (name == "index") return index + 1;
  if (name == "index0") return index;
  if (name == "revindex") return length - index;
  if (name == "revindex0") return length - index - 1;
  if (name == "first") return index == 0;
  if (name == "last") return index + 1 == length;
  if (name == "length") return length;
  if (name == "depth") return int64_t(loop.nesting);
  if (name == "depth0") return int64_t(loop.nesting) - 1;
  if (name == "previtem") return index > 0 ? loop.items[loop.index - 1] : Undefined{"loop.previtem"};
  if (name == "nextitem") return index + 1 < length ? loop.items[loop.index + 1] : Undefined{"loop.nextitem"};
  fail_input("the chat template uses 'loop.{}', which is not known", name);
}

// Python changes the case of more letters than ours; a wrong text would go unnoticed.
void check_ascii(std::string_view text) {
  for (const char c : text)
    if (c & 0x80) fail_input("the chat template changes the case of a text with letters beyond ASCII");
}
char to_upper(char c) { return c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c; }
char to_lower(char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; }

std::string title(std::string_view text) {
  check_ascii(text);
  std::string out(text);
  bool inside = false;
  for (char& c : out) {
    c = inside ? to_lower(c) : to_upper(c);
    inside = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  }
  return out;
}

const std::string& text_argument(const std::optional<Value>& value, const Method& method) {
  const std::string* text = value ? as_text(*value) : nullptr;
  if (!text) fail_input("the chat template gives '{}' something that is no string", method.name);
  return *text;
}

int64_t integer_argument(const std::optional<Value>& value, int64_t fallback, const std::string& who) {
  if (!value) return fallback;
  const auto integer = as_integer(*value);
  if (!integer)
    fail_input("the chat template gives '{}' {} where an integer is expected", who, kind_of(*value));
  return *integer;
}

Value list_of_texts(const std::vector<std::string_view>& parts, Budget& budget) {
  std::vector<Value> items;
  for (const std::string_view part : parts) items.push_back(make_text(std::string(part), budget));
  return make_list(std::move(items));
}

// Python's split and rsplit with a separator.
Value split_at(std::string_view text, std::string_view separator, int64_t most, bool from_right,
               Budget& budget) {
  if (separator.empty()) fail_input("the chat template splits a text at nothing");
  std::vector<std::string_view> parts;
  while (most < 0 || int64_t(parts.size()) < most) {
    budget.spend();
    const size_t at = from_right ? text.rfind(separator) : text.find(separator);
    if (at == text.npos) break;
    parts.push_back(from_right ? text.substr(at + separator.size()) : text.substr(0, at));
    text = from_right ? text.substr(0, at) : text.substr(at + separator.size());
  }
  parts.push_back(text);
  if (from_right) std::reverse(parts.begin(), parts.end());
  return list_of_texts(parts, budget);
}

// Without a separator: at runs of white space.
Value split_words(std::string_view text, int64_t most, bool from_right, Budget& budget) {
  std::vector<std::string_view> parts;
  text = strip(text, true, false);
  if (from_right && most >= 0) fail_input("the chat template uses 'rsplit' with a count, which is not known");
  while (!text.empty()) {
    budget.spend();
    if (most >= 0 && int64_t(parts.size()) == most) {
      parts.push_back(text);  // with the space at its end
      break;
    }
    size_t end = 0;
    while (end < text.size()) {
      const std::string_view character = characters(text.substr(end, 4))[0];
      if (is_space(character)) break;
      end += character.size();
    }
    parts.push_back(text.substr(0, end));
    text = strip(text.substr(end), true, false);
  }
  return list_of_texts(parts, budget);
}

bool begins_or_ends(const std::string& text, const Value& with, const Method& method) {
  if (const List* list = as_list(with); list && list->shape == Shape::tuple)
    return std::any_of(list->items.begin(), list->items.end(),
                       [&](const Value& item) { return begins_or_ends(text, item, method); });
  const std::string& part = text_argument(with, method);
  return method.name == "startswith" ? text.starts_with(part) : text.ends_with(part);
}

Value join_texts(const std::string& separator, const Value& items, const Method& method, Budget& budget) {
  std::string out;
  const std::vector<Value> all = iterate(items, budget);
  for (size_t i = 0; i < all.size(); ++i) {
    if (i) out += separator;
    out += text_argument(all[i], method);
    if (out.size() > Budget::most_bytes) break;
  }
  return make_text(std::move(out), budget);
}

Value call_text_method(const std::string& text, const Method& method, const Arguments& arguments,
                       Budget& budget) {
  const std::string& name = method.name;
  budget.spend_bytes(text.size());
  const auto made = [&](std::string_view result) { return make_text(std::string(result), budget); };
  if (name == "strip" || name == "lstrip" || name == "rstrip") {
    const auto given = arguments.bind(name, {"chars"});
    std::optional<std::string_view> chars;
    if (given[0] && !is_none(*given[0])) chars = text_argument(given[0], method);
    if (chars) budget.spend_search(text.size(), chars->size() * 16);
    return made(strip(text, name != "rstrip", name != "lstrip", chars));
  }
  if (name == "split" || name == "rsplit") {
    const auto given = arguments.bind(name, {"sep", "maxsplit"});
    const int64_t most = integer_argument(given[1], -1, name);
    const bool words = !given[0] || is_none(*given[0]);
    if (words) return split_words(text, most, name == "rsplit", budget);
    const std::string& separator = text_argument(given[0], method);
    budget.spend_search(text.size(), separator.size());
    return split_at(text, separator, most, name == "rsplit", budget);
  }
  if (name == "startswith" || name == "endswith")
    return begins_or_ends(text, *arguments.bind(name, {"prefix"}, 1)[0], method);
  if (name == "replace") {
    const auto given = arguments.bind(name, {"old", "new", "count"}, 2);
    return made(replace_all(text, text_argument(given[0], method), text_argument(given[1], method),
                            integer_argument(given[2], -1, name), budget));
  }
  if (name == "join") return join_texts(text, *arguments.bind(name, {"iterable"}, 1)[0], method, budget);
  if (name == "find" || name == "rfind" || name == "count" || name.starts_with("remove")) {
    const std::string part = text_argument(arguments.bind(name, {"sub"}, 1)[0], method);
    budget.spend_search(text.size(), part.size());
    if (name == "removeprefix") return made(text.starts_with(part) ? text.substr(part.size()) : text);
    if (name == "removesuffix")
      return made(text.ends_with(part) ? text.substr(0, text.size() - part.size()) : text);
    if (name == "count") {
      if (part.empty()) return int64_t(count_characters(text)) + 1;
      int64_t count = 0;
      for (size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++count;
      return count;
    }
    const size_t at = name == "find" ? text.find(part) : text.rfind(part);
    return at == text.npos ? int64_t(-1) : int64_t(count_characters(std::string_view(text).substr(0, at)));
  }
  arguments.bind(name, {});
  if (name == "upper") return made(upper(text));
  if (name == "lower") return made(lower(text));
  if (name == "title") return made(title(text));
  if (name == "capitalize") return made(capitalize(text));
  // splitlines
  return list_of_texts(split_lines(text), budget);
}

Value call_dict_method(const Dict& dict, const Method& method, const Arguments& arguments, Budget& budget) {
  const std::string& name = method.name;
  if (name == "get") {
    const auto given = arguments.bind(name, {"key", "default"}, 1);
    const Value* found = dict.find(*given[0], budget);
    return found ? *found : given[1].value_or(None{});
  }
  arguments.bind(name, {});
  budget.spend(dict.entries.size());
  std::vector<Value> items;
  for (const auto& [key, value] : dict.entries)
    items.push_back(name == "keys" ? key : name == "values" ? value : make_list({key, value}, Shape::tuple));
  return make_list(std::move(items), name == "keys"     ? Shape::keys
                                     : name == "values" ? Shape::values
                                                        : Shape::items);
}

}  // namespace

Value get_attribute(const Value& value, const std::string& name, Budget& budget) {
  if (is_undefined(value)) fail_input("the chat template uses '.{}' of {}", name, kind_of(value));
  if (auto method = find_method(value, name)) return *method;
  if (const Dict* dict = as_dict(value)) {
    budget.spend(1 + dict->entries.size() / 16);
    if (const Value* found = dict->find(name)) return *found;
  }
  if (const auto* space = std::get_if<Namespace*>(&value)) {
    budget.spend(1 + (*space)->entries.size() / 16);
    for (const auto& [key, entry] : (*space)->entries)
      if (key == name) return entry;
  }
  if (const auto* loop = std::get_if<Loop*>(&value)) return loop_attribute(**loop, name);
  return Undefined{name};
}

Value get_item(const Value& value, const Value& key, Budget& budget) {
  if (is_undefined(value)) fail_input("the chat template takes an item of {}", kind_of(value));
  if (const auto integer = as_integer(key)) {
    const List* list = as_list(value);
    const std::string* text = as_text(value);
    if (text) budget.spend_bytes(text->size());
    const bool indexed = text || (list && list->shape <= Shape::range);
    const int64_t length = !indexed ? 0 : int64_t(text ? count_characters(*text) : list->items.size());
    const int64_t at = *integer < 0 ? *integer + length : *integer;
    if (indexed && at >= 0 && at < length)
      return list ? list->items[size_t(at)] : make_text(std::string(characters(*text)[size_t(at)]), budget);
    if (indexed) return Undefined{"the item " + std::to_string(*integer)};
  }
  const List* keys = as_list(key);
  if (as_dict(key) || (keys && keys->shape == Shape::list)) return Undefined{};
  if (const Dict* dict = as_dict(value))
    if (const Value* found = dict->find(key, budget)) return *found;
  const std::string* name = as_text(key);
  if (!name) return Undefined{};
  if (auto method = find_method(value, *name)) return *method;
  return as_dict(value) || as_list(value) ? Undefined{*name} : get_attribute(value, *name, budget);
}

Value call_method(const Method& method, const Arguments& arguments, Budget& budget) {
  if (const std::string* text = as_text(method.self))
    return call_text_method(*text, method, arguments, budget);
  return call_dict_method(*as_dict(method.self), method, arguments, budget);
}

std::string upper(std::string_view text) {
  check_ascii(text);
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), to_upper);
  return out;
}

std::string lower(std::string_view text) {
  check_ascii(text);
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), to_lower);
  return out;
}

std::string capitalize(std::string_view text) {
  std::string out = lower(text);
  if (!out.empty()) out[0] = to_upper(out[0]);
  return out;
}

std::string replace_all(const std::string& text, const std::string& from, const std::string& to, int64_t most,
                        Budget& budget) {
  std::string out;
  budget.spend_search(text.size(), from.size());
  const auto add = [&](std::string_view part) {
    if (out.size() + part.size() > Budget::most_bytes)
      fail_input("the chat template makes a text of more than 4 MiB");
    out += part;
  };
  size_t at = 0;
  for (int64_t done = 0; most < 0 || done < most; ++done) {
    if (from.empty()) {  // between all characters, and at both ends
      add(to);
      if (at >= text.size()) break;
      const std::string_view character = characters(std::string_view(text).substr(at, 4))[0];
      add(character);
      at += character.size();
      continue;
    }
    const size_t next = text.find(from, at);
    if (next == text.npos) break;
    add(std::string_view(text).substr(at, next - at));
    add(to);
    at = next + from.size();
  }
  add(std::string_view(text).substr(std::min(at, text.size())));
  return out;
}

}  // namespace plimsoll::jinja
