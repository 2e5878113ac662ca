// What chat templates ask of values: their kind, truth, order, parts and characters.
#include <algorithm>

#include "jinja/value.hpp"

namespace plimsoll::jinja {
namespace {

constexpr std::string_view wide_spaces[] = {"\u0085", "\u00a0", "\u1680", "\u2028",
                                            "\u2029", "\u202f", "\u205f", "\u3000"};

bool equal_lists(const List& a, const List& b, Budget& budget) {
  if (a.shape != b.shape || a.items.size() != b.items.size()) return false;
  for (size_t i = 0; i < a.items.size(); ++i)
    if (!equal(a.items[i], b.items[i], budget)) return false;
  return true;
}

bool equal_dicts(const Dict& a, const Dict& b, Budget& budget) {
  if (a.entries.size() != b.entries.size()) return false;
  for (const auto& [key, value] : a.entries) {
    const Value* other = b.find(key, budget);
    if (!other || !equal(value, *other, budget)) return false;
  }
  return true;
}

size_t character_size(std::string_view text, size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  const size_t size = byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
  if (at + size > text.size()) return 1;
  for (size_t i = 1; i < size; ++i)
    if ((static_cast<unsigned char>(text[at + i]) & 0xc0) != 0x80) return 1;
  return size;
}

}  // namespace

const std::string* as_text(const Value& value) {
  const Text* text = std::get_if<Text>(&value);
  return text ? text->get() : nullptr;
}
const List* as_list(const Value& value) {
  const auto* list = std::get_if<std::shared_ptr<const List>>(&value);
  return list ? list->get() : nullptr;
}
const Dict* as_dict(const Value& value) {
  const auto* dict = std::get_if<std::shared_ptr<const Dict>>(&value);
  return dict ? dict->get() : nullptr;
}
std::optional<int64_t> as_integer(const Value& value) {
  if (const int64_t* integer = std::get_if<int64_t>(&value)) return *integer;
  if (const bool* flag = std::get_if<bool>(&value)) return *flag;
  return std::nullopt;
}
bool is_number(const Value& value) { return as_integer(value) || std::holds_alternative<double>(value); }
double to_double(const Value& value) {
  const double* number = std::get_if<double>(&value);
  return number ? *number : double(*as_integer(value));
}

std::string kind_of(const Value& value) {
  if (const auto* undefined = std::get_if<Undefined>(&value))
    return undefined->name.empty() ? "an undefined value"
                                   : fmt::format("'{}', which is undefined", undefined->name);
  if (const List* list = as_list(value)) {
    constexpr const char* names[] = {
        "a list",          "a tuple",          "a range",    "the keys of a dict",
        "a dict's values", "a dict's entries", "a generator"};
    return names[int(list->shape)];
  }
  constexpr const char* names[] = {"",      "none",   "a boolean", "an integer", "a float",     "a string",
                                   "",      "a dict", "a method",  "a function", "a namespace", "a macro",
                                   "a loop"};
  return names[value.index()];
}

bool is_true(const Value& value) {
  if (is_undefined(value) || is_none(value)) return false;
  if (is_number(value)) return to_double(value) != 0;
  if (const std::string* text = as_text(value)) return !text->empty();
  if (const List* list = as_list(value)) return list->shape == Shape::generator || !list->items.empty();
  if (const Dict* dict = as_dict(value)) return !dict->entries.empty();
  return true;
}

bool equal(const Value& a, const Value& b, Budget& budget) {
  budget.spend();
  if (is_number(a) && is_number(b)) {
    const auto left = as_integer(a), right = as_integer(b);
    return left && right ? *left == *right : to_double(a) == to_double(b);
  }
  if (a.index() != b.index()) return false;
  if (const std::string* text = as_text(a)) {
    budget.spend_bytes(std::min(text->size(), as_text(b)->size()));
    return *text == *as_text(b);
  }
  if (const List* list = as_list(a))
    return list == as_list(b) || (list->shape != Shape::generator && equal_lists(*list, *as_list(b), budget));
  if (const Dict* dict = as_dict(a)) return dict == as_dict(b) || equal_dicts(*dict, *as_dict(b), budget);
  if (is_undefined(a) || is_none(a)) return true;
  if (auto* method = std::get_if<std::shared_ptr<const Method>>(&a))
    return *method == std::get<std::shared_ptr<const Method>>(b);
  if (auto* function = std::get_if<Function>(&a)) return *function == std::get<Function>(b);
  if (auto* space = std::get_if<Namespace*>(&a)) return *space == std::get<Namespace*>(b);
  if (auto* macro = std::get_if<Macro*>(&a)) return *macro == std::get<Macro*>(b);
  return std::get<Loop*>(a) == std::get<Loop*>(b);
}

bool less(const Value& a, const Value& b, Budget& budget) {
  budget.spend();
  if (is_number(a) && is_number(b)) {
    const auto left = as_integer(a), right = as_integer(b);
    return left && right ? *left < *right : to_double(a) < to_double(b);
  }
  if (as_text(a) && as_text(b)) {
    budget.spend_bytes(std::min(as_text(a)->size(), as_text(b)->size()));
    return *as_text(a) < *as_text(b);
  }
  const List *left = as_list(a), *right = as_list(b);
  if (!left || !right || left->shape != right->shape || left->shape > Shape::tuple)
    fail_input("the chat template compares {} with {}", kind_of(a), kind_of(b));
  for (size_t i = 0; i < std::min(left->items.size(), right->items.size()); ++i)
    if (!equal(left->items[i], right->items[i], budget)) return less(left->items[i], right->items[i], budget);
  return left->items.size() < right->items.size();
}

bool contains(const Value& container, const Value& item, Budget& budget) {
  if (const std::string* text = as_text(container)) {
    const std::string* part = as_text(item);
    if (!part) fail_input("the chat template looks for {} in a string", kind_of(item));
    budget.spend_search(text->size(), part->size());
    return text->find(*part) != text->npos;
  }
  if (const Dict* dict = as_dict(container)) return dict->find(item, budget);
  if (const List* list = as_list(container))
    return std::any_of(list->items.begin(), list->items.end(),
                       [&](const Value& other) { return equal(other, item, budget); });
  if (is_undefined(container)) return false;
  fail_input("the chat template looks for something in {}", kind_of(container));
}

std::vector<Value> iterate(const Value& value, Budget& budget) {
  std::vector<Value> items;
  if (const List* list = as_list(value)) {
    budget.spend(list->items.size());
    return list->items;
  }
  if (const Dict* dict = as_dict(value)) {
    budget.spend(dict->entries.size());
    for (const auto& entry : dict->entries) items.push_back(entry.first);
    return items;
  }
  if (const std::string* text = as_text(value)) {
    budget.spend(text->size());
    for (const std::string_view character : characters(*text))
      items.push_back(std::make_shared<const std::string>(character));
    return items;
  }
  if (is_undefined(value)) return items;
  fail_input("the chat template goes through {}", kind_of(value));
}

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> out;
  for (size_t at = 0; at < text.size(); at += out.back().size())
    out.push_back(text.substr(at, character_size(text, at)));
  return out;
}

size_t count_characters(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); at += character_size(text, at)) ++count;
  return count;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  constexpr std::string_view ends[] = {"\r\n", "\n",   "\r",       "\v",           "\f",          "\x1c",
                                       "\x1d", "\x1e", "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"};
  std::vector<std::string_view> lines;
  for (size_t at = 0; at < text.size();) {
    at = std::min(text.find_first_of("\n\r\v\f\x1c\x1d\x1e\xc2\xe2", at), text.size());
    const auto end = std::find_if(std::begin(ends), std::end(ends),
                                  [&](std::string_view e) { return text.substr(at).starts_with(e); });
    if (at < text.size() && end == std::end(ends)) {
      ++at;
      continue;
    }
    lines.push_back(text.substr(0, at));
    text.remove_prefix(at < text.size() ? at + end->size() : at);
    at = 0;
  }
  if (!text.empty()) lines.push_back(text);
  return lines;
}

bool is_space(std::string_view character) {
  if (character.size() == 1)
    return std::string_view(" \t\n\v\f\r\x1c\x1d\x1e\x1f").find(character) != character.npos;
  if (character.size() == 3 && character.starts_with("\xe2\x80") && character[2] <= '\x8a') return true;
  return std::find(std::begin(wide_spaces), std::end(wide_spaces), character) != std::end(wide_spaces);
}

std::string_view strip(std::string_view text, bool left, bool right, std::optional<std::string_view> chars) {
  const std::vector<std::string_view> given = characters(chars.value_or(""));
  const auto goes = [&](std::string_view character) {
    return chars ? std::find(given.begin(), given.end(), character) != given.end() : is_space(character);
  };
  while (left && !text.empty()) {
    const size_t size = character_size(text, 0);
    if (!goes(text.substr(0, size))) break;
    text.remove_prefix(size);
  }
  while (right && !text.empty()) {
    size_t begin = text.size() - 1;
    while (begin > 0 && text.size() - begin < 4 && (text[begin] & 0xc0) == 0x80) --begin;
    if (begin + character_size(text, begin) != text.size()) begin = text.size() - 1;
    if (!goes(text.substr(begin))) break;
    text.remove_suffix(text.size() - begin);
  }
  return text;
}

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += char(code);
  } else if (code < 0x800) {
    out += char(0xc0 | code >> 6);
    out += char(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += char(0xe0 | code >> 12);
    out += char(0x80 | (code >> 6 & 0x3f));
    out += char(0x80 | (code & 0x3f));
  } else {
    out += char(0xf0 | code >> 18);
    out += char(0x80 | (code >> 12 & 0x3f));
    out += char(0x80 | (code >> 6 & 0x3f));
    out += char(0x80 | (code & 0x3f));
  }
}

}  // namespace plimsoll::jinja
