// The filters and tests that chat templates use.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>

#include "jinja/value.hpp"

namespace plimsoll::jinja {
namespace {

int64_t integer_of(const std::optional<Value>& value, int64_t fallback, std::string_view who) {
  if (!value) return fallback;
  const auto integer = as_integer(*value);
  if (!integer)
    fail_input("the chat template gives '{}' {} where an integer is expected", who, kind_of(*value));
  return *integer;
}

int64_t length_of(const Value& value, Budget& budget) {
  if (const List* list = as_list(value); list && list->shape != Shape::generator)
    return int64_t(list->items.size());
  if (const Dict* dict = as_dict(value)) return int64_t(dict->entries.size());
  if (const std::string* text = as_text(value)) {
    budget.spend_bytes(text->size());
    return int64_t(count_characters(*text));
  }
  if (is_undefined(value)) return 0;
  fail_input("the chat template asks for the length of {}", kind_of(value));
}

// 'a.b.0' as map, join and selectattr take it.
Value attribute_path(Value value, const Value& path, Budget& budget) {
  if (as_integer(path)) return get_item(value, path, budget);
  const std::string* names = as_text(path);
  if (!names) fail_input("the chat template names an attribute by {}", kind_of(path));
  for (size_t begin = 0; begin <= names->size();) {
    const size_t end = std::min(names->find('.', begin), names->size());
    const std::string name = names->substr(begin, end - begin);
    int64_t index = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), index);
    const bool number = parsed.ec == std::errc() && parsed.ptr == name.data() + name.size() && name[0] != '-';
    value = get_item(value, number ? Value(index) : make_text(name, budget), budget);
    begin = end + 1;
  }
  return value;
}

std::vector<Value> items_if_true(const Value& value, Budget& budget) {
  return is_true(value) ? iterate(value, budget) : std::vector<Value>();
}

// select, reject, selectattr, rejectattr.
Value select(const std::string& name, const Value& value, Arguments arguments, Budget& budget) {
  const bool by_attribute = name.ends_with("attr"), wanted = name.starts_with("select");
  std::optional<Value> attribute;
  const auto take_first = [&] {
    Value first = arguments.positional.front();
    arguments.positional.erase(arguments.positional.begin());
    return first;
  };
  if (by_attribute) {
    if (arguments.positional.empty()) fail_input("the chat template gives '{}' too few arguments", name);
    attribute = take_first();
  }
  std::string test;
  if (!arguments.positional.empty()) {
    const Value first = take_first();
    if (!as_text(first)) fail_input("the chat template gives '{}' a test that is no name", name);
    test = *as_text(first);
  }
  std::vector<Value> kept;
  for (const Value& item : items_if_true(value, budget)) {
    const Value subject = attribute ? attribute_path(item, *attribute, budget) : item;
    if ((test.empty() ? is_true(subject) : apply_test(test, subject, arguments, budget)) == wanted)
      kept.push_back(item);
  }
  return make_list(std::move(kept), Shape::generator);
}

Value map_items(const Value& value, Arguments arguments, Budget& budget) {
  std::vector<Value> made;
  const std::vector<Value> items = items_if_true(value, budget);
  if (arguments.positional.empty()) {
    const auto given = arguments.bind("map", {"attribute", "default"}, 1);
    for (const Value& item : items) {
      made.push_back(attribute_path(item, *given[0], budget));
      if (is_undefined(made.back()) && given[1]) made.back() = *given[1];
    }
  } else {
    const std::string* filter = as_text(arguments.positional[0]);
    if (!filter) fail_input("the chat template gives 'map' a filter that is no name");
    const std::string name = *filter;
    arguments.positional.erase(arguments.positional.begin());
    for (const Value& item : items) made.push_back(apply_filter(name, item, arguments, budget));
  }
  return make_list(std::move(made), Shape::generator);
}

Value join(const Value& value, const Arguments& arguments, Budget& budget) {
  const auto given = arguments.bind("join", {"d", "attribute"});
  const std::string separator = given[0] ? to_text(*given[0], budget) : "";
  std::string out;
  const std::vector<Value> items = iterate(value, budget);
  for (size_t i = 0; i < items.size(); ++i) {
    if (i) out += separator;
    out += to_text(given[1] ? attribute_path(items[i], *given[1], budget) : items[i], budget);
    if (out.size() > Budget::most_bytes) break;
  }
  return make_text(std::move(out), budget);
}

Value write_json(const Value& value, const Arguments& arguments, Budget& budget) {
  const auto given = arguments.bind("tojson", {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ascii = given[0] && is_true(*given[0]);
  style.sorted = given[3] && is_true(*given[3]);
  if (given[1] && !is_none(*given[1])) {
    const std::string* text = as_text(*given[1]);
    const int64_t width = text ? 0 : integer_of(given[1], 0, "tojson");
    style.indent = text ? *text : std::string(size_t(std::clamp<int64_t>(width, 0, 1000)), ' ');
    style.comma = ",";
  }
  if (given[2] && !is_none(*given[2])) {
    const List* list = as_list(*given[2]);
    if (!list || list->items.size() != 2 || !as_text(list->items[0]) || !as_text(list->items[1]))
      fail_input("the chat template gives 'tojson' separators that are not two strings");
    style.comma = *as_text(list->items[0]);
    style.colon = *as_text(list->items[1]);
  }
  return make_text(to_json(value, style, budget), budget);
}

// Python's int() of a text, or else of the number in it.
Value parse_integer(const Value& value, const Value& fallback) {
  if (const auto integer = as_integer(value)) return *integer;
  std::string digits;
  if (const std::string* text = as_text(value)) digits = strip(*text, true, true);
  const char* begin = digits.data() + digits.starts_with('+');
  const char* end = digits.data() + digits.size();
  int64_t integer = 0;
  const auto parsed = std::from_chars(begin, end, integer);
  if (!digits.empty() && parsed.ec == std::errc() && parsed.ptr == end) return integer;
  double number = NAN;
  if (const double* given = std::get_if<double>(&value)) {
    number = *given;
  } else if (const auto as_double = std::from_chars(begin, end, number);
             as_double.ec != std::errc() || as_double.ptr != end) {
    return fallback;
  }
  if (!(std::abs(number) < 9e18)) return fallback;
  return int64_t(number);
}

Value indent(const Value& value, const Arguments& arguments, Budget& budget) {
  const auto given = arguments.bind("indent", {"width", "first", "blank"});
  const std::string* prefix = given[0] ? as_text(*given[0]) : nullptr;
  const int64_t width = prefix ? 0 : integer_of(given[0], 4, "indent");
  const std::string space = prefix ? *prefix : std::string(size_t(std::clamp<int64_t>(width, 0, 1000)), ' ');
  const bool first = given[1] && is_true(*given[1]), blank = given[2] && is_true(*given[2]);
  if (!as_text(value)) fail_input("the chat template indents {}", kind_of(value));
  const std::string& text = *as_text(value);
  std::string out = first ? space : "";
  const std::string ended = text + "\n";  // as Jinja does it: a last newline stays
  bool begun = false;
  for (const std::string_view line : split_lines(ended)) {
    if (out.size() > Budget::most_bytes) break;
    if (begun) out += '\n';
    if (begun && (blank || !line.empty())) out += space;
    out += line;
    begun = true;
  }
  return make_text(std::move(out), budget);
}

// Each word begins large, and goes on small.
std::string title_words(const std::string& text) {
  std::string out = lower(text);
  const std::string large = upper(text);
  bool inside = false;
  for (size_t i = 0; i < out.size(); ++i) {
    const bool between = std::string_view("-({[<").find(out[i]) != std::string_view::npos ||
                         is_space(std::string_view(out).substr(i, 1));
    if (!inside && !between) out[i] = large[i];
    inside = !between;
  }
  return out;
}

Value lower_key(const Value& value, bool case_sensitive, Budget& budget) {
  return !case_sensitive && as_text(value) ? make_text(lower(*as_text(value)), budget) : value;
}

// The second of each pair, in the order of the first.
Value sorted(std::vector<std::pair<Value, Value>> entries, bool reverse, Budget& budget) {
  std::stable_sort(entries.begin(), entries.end(), [&](const auto& a, const auto& b) {
    return reverse ? less(b.first, a.first, budget) : less(a.first, b.first, budget);
  });
  std::vector<Value> values;
  for (auto& entry : entries) values.push_back(std::move(entry.second));
  return make_list(std::move(values));
}

Value dictsort(const Value& value, const Arguments& arguments, Budget& budget) {
  const auto given = arguments.bind("dictsort", {"case_sensitive", "by", "reverse"});
  const Dict* dict = as_dict(value);
  if (!dict) fail_input("the chat template sorts {} as a dict", kind_of(value));
  const bool case_sensitive = given[0] && is_true(*given[0]), reverse = given[2] && is_true(*given[2]);
  const bool by_value = given[1] && to_text(*given[1], budget) == "value";
  std::vector<std::pair<Value, Value>> entries;
  for (const auto& [key, entry] : dict->entries)
    entries.emplace_back(lower_key(by_value ? entry : key, case_sensitive, budget),
                         make_list({key, entry}, Shape::tuple));
  return sorted(std::move(entries), reverse, budget);
}

Value sort(const Value& value, const Arguments& arguments, Budget& budget) {
  const auto given = arguments.bind("sort", {"reverse", "case_sensitive", "attribute"});
  const bool reverse = given[0] && is_true(*given[0]), case_sensitive = given[1] && is_true(*given[1]);
  std::vector<std::pair<Value, Value>> entries;
  for (const Value& item : iterate(value, budget))
    entries.emplace_back(
        lower_key(given[2] ? attribute_path(item, *given[2], budget) : item, case_sensitive, budget), item);
  return sorted(std::move(entries), reverse, budget);
}

Value unique(const Value& value, const Arguments& arguments, Budget& budget) {
  const auto given = arguments.bind("unique", {"case_sensitive", "attribute"});
  std::vector<Value> seen, kept;
  for (const Value& item : iterate(value, budget)) {
    const Value key = lower_key(given[1] ? attribute_path(item, *given[1], budget) : item,
                                given[0] && is_true(*given[0]), budget);
    if (std::any_of(seen.begin(), seen.end(), [&](const Value& other) { return equal(other, key, budget); }))
      continue;
    seen.push_back(key);
    kept.push_back(item);
  }
  return make_list(std::move(kept), Shape::generator);
}

Value reverse(const Value& value, Budget& budget) {
  std::vector<Value> items = iterate(value, budget);
  std::reverse(items.begin(), items.end());
  if (!as_text(value)) return make_list(std::move(items), Shape::generator);
  std::string out;
  for (const Value& item : items) out += *as_text(item);
  return make_text(std::move(out), budget);
}

Value dict_items(const Value& value, Budget& budget) {
  if (is_undefined(value)) return make_list({}, Shape::generator);
  if (!as_dict(value)) fail_input("the chat template takes the entries of {}", kind_of(value));
  const Value items = call_method({value, "items"}, {}, budget);
  return make_list(as_list(items)->items, Shape::generator);
}

Value first_or_last(const Value& value, bool last, Budget& budget) {
  if (const List* list = as_list(value); last && list && list->shape == Shape::generator)
    fail_input("the chat template asks for the last of a generator");
  const std::vector<Value> items = iterate(value, budget);
  if (items.empty()) return Undefined{last ? "the last item" : "the first item"};
  return last ? items.back() : items.front();
}

// Filters of one text that take no arguments.
std::optional<std::string> change_text(const std::string& name, const std::string& text) {
  if (name == "upper") return upper(text);
  if (name == "lower") return lower(text);
  if (name == "title") return title_words(text);
  if (name == "capitalize") return capitalize(text);
  if (name == "string" || name == "safe") return text;
  return std::nullopt;
}

bool is_sequence(const Value& value) {
  const List* list = as_list(value);
  return as_text(value) || as_dict(value) || is_undefined(value) || (list && list->shape <= Shape::range);
}

using TestOfOne = bool (*)(const Value&);
const std::map<std::string_view, TestOfOne> tests_of_one = {
    {"defined", [](const Value& v) { return !is_undefined(v); }},
    {"undefined", [](const Value& v) { return is_undefined(v); }},
    {"none", [](const Value& v) { return is_none(v); }},
    {"string", [](const Value& v) { return as_text(v) != nullptr; }},
    {"number", [](const Value& v) { return is_number(v); }},
    {"integer", [](const Value& v) { return std::holds_alternative<int64_t>(v); }},
    {"float", [](const Value& v) { return std::holds_alternative<double>(v); }},
    {"boolean", [](const Value& v) { return std::holds_alternative<bool>(v); }},
    {"true", [](const Value& v) { return std::holds_alternative<bool>(v) && std::get<bool>(v); }},
    {"false", [](const Value& v) { return std::holds_alternative<bool>(v) && !std::get<bool>(v); }},
    {"mapping", [](const Value& v) { return as_dict(v) != nullptr; }},
    {"iterable", [](const Value& v) { return as_text(v) || as_dict(v) || as_list(v) || is_undefined(v); }},
    {"sequence", is_sequence},
    {"callable",
     [](const Value& v) {
       return std::holds_alternative<std::shared_ptr<const Method>>(v) ||
              std::holds_alternative<Function>(v) || std::holds_alternative<Macro*>(v) || is_undefined(v);
     }},
};

int64_t remainder(const Value& value, int64_t by) {
  const auto integer = as_integer(value);
  if (!integer) fail_input("the chat template asks whether {} is divisible", kind_of(value));
  if (by == 0) fail_input("the chat template divides by zero");
  return by == -1 ? 0 : *integer % by;
}

}  // namespace

Value apply_filter(const std::string& name, const Value& value, const Arguments& arguments, Budget& budget) {
  budget.spend();
  if (name == "trim") {
    const auto given = arguments.bind(name, {"chars"});
    const std::string text = to_text(value, budget);
    budget.spend_bytes(text.size());
    std::optional<std::string> chars;
    if (given[0] && !is_none(*given[0])) chars = to_text(*given[0], budget);
    if (chars) budget.spend_search(text.size(), chars->size() * 16);
    return make_text(std::string(strip(text, true, true, chars)), budget);
  }
  if (name == "length" || name == "count") return arguments.bind(name, {}), length_of(value, budget);
  if (name == "default" || name == "d") {
    const auto given = arguments.bind(name, {"default_value", "boolean"});
    const bool replaced = is_undefined(value) || (given[1] && is_true(*given[1]) && !is_true(value));
    return !replaced ? value : given[0] ? *given[0] : make_text("", budget);
  }
  if (name == "tojson") return write_json(value, arguments, budget);
  if (name == "join") return join(value, arguments, budget);
  if (name == "list") return arguments.bind(name, {}), make_list(iterate(value, budget));
  if (name == "first" || name == "last")
    return arguments.bind(name, {}), first_or_last(value, name == "last", budget);
  if (name == "int") {
    const auto given = arguments.bind(name, {"default"});
    if (is_undefined(value)) fail_input("the chat template makes an integer of {}", kind_of(value));
    if (const std::string* text = as_text(value)) budget.spend_bytes(text->size());
    return parse_integer(value, given[0].value_or(int64_t(0)));
  }
  if (name == "replace") {
    const auto given = arguments.bind(name, {"old", "new", "count"}, 2);
    const int64_t most = given[2] && !is_none(*given[2]) ? integer_of(given[2], -1, name) : -1;
    return make_text(replace_all(to_text(value, budget), to_text(*given[0], budget),
                                 to_text(*given[1], budget), most, budget),
                     budget);
  }
  if (name == "reverse") return arguments.bind(name, {}), reverse(value, budget);
  if (name == "items") return arguments.bind(name, {}), dict_items(value, budget);
  if (name == "select" || name == "reject" || name == "selectattr" || name == "rejectattr")
    return select(name, value, arguments, budget);
  if (name == "map") return map_items(value, arguments, budget);
  if (name == "unique") return unique(value, arguments, budget);
  if (name == "dictsort") return dictsort(value, arguments, budget);
  if (name == "sort") return sort(value, arguments, budget);
  if (name == "indent") return indent(value, arguments, budget);
  for (const std::string_view known : {"upper", "lower", "title", "capitalize", "string", "safe"})
    if (name == known)
      return arguments.bind(name, {}), make_text(*change_text(name, to_text(value, budget)), budget);
  fail_input("the chat template uses the filter '{}', which is not known", name.substr(0, 40));
}

bool apply_test(const std::string& name, const Value& value, const Arguments& arguments, Budget& budget) {
  budget.spend();
  if (const auto test = tests_of_one.find(name); test != tests_of_one.end())
    return arguments.bind(name, {}), test->second(value);
  if (name == "odd") return arguments.bind(name, {}), remainder(value, 2) != 0;
  if (name == "even") return arguments.bind(name, {}), remainder(value, 2) == 0;
  const auto other = [&] { return *arguments.bind(name, {"other"}, 1)[0]; };
  if (name == "equalto" || name == "eq") return equal(value, other(), budget);
  if (name == "ne") return !equal(value, other(), budget);
  if (name == "lt" || name == "lessthan") return less(value, other(), budget);
  if (name == "gt" || name == "greaterthan") return less(other(), value, budget);
  if (name == "in") return contains(other(), value, budget);
  if (name == "divisibleby") return remainder(value, integer_of(other(), 0, name)) == 0;
  fail_input("the chat template uses the test '{}', which is not known", name.substr(0, 40));
}

}  // namespace plimsoll::jinja
