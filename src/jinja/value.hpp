// The values of a chat template. They behave as Python's do, because templates were written against those.
#pragma once
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.hpp"

namespace plimsoll::jinja {

// What one rendering may cost. A template is somebody else's program, and it may be written to never end.
class Budget {
 public:
  static constexpr size_t most_bytes = 4 << 20;
  static constexpr int deepest_value = 100;

  void spend(size_t steps = 1) {
    if (steps > left_) fail_input("the chat template takes too long: more than 1000000 steps");
    left_ -= steps;
  }
  // For reading or making a text of this size.
  void spend_bytes(size_t bytes) { spend(1 + bytes / 256); }
  // For looking for a text within another: the worst case is the product.
  void spend_search(size_t text, size_t part) { spend((1 + text / 256) * (1 + part / 16)); }

 private:
  size_t left_ = 1'000'000;
};

struct List;
struct Dict;
struct Method;
struct Namespace;  // these three belong to the rendering: values may point at them in circles
struct Macro;
struct Loop;

struct Undefined {
  std::string name;
};
struct None {};
enum class Function { raise_exception, make_namespace, range, dict };

using Text = std::shared_ptr<const std::string>;
using Value = std::variant<Undefined, None, bool, int64_t, double, Text, std::shared_ptr<const List>,
                           std::shared_ptr<const Dict>, std::shared_ptr<const Method>, Function, Namespace*,
                           Macro*, Loop*>;

// What is iterated: Python tells these apart when it prints, compares or asks for their truth.
enum class Shape { list, tuple, range, keys, values, items, generator };

struct List {
  std::vector<Value> items;
  Shape shape;
  int depth;
};

struct Dict {
  std::vector<std::pair<Value, Value>> entries;  // in the order of insertion
  int depth;
  const Value* find(const Value& key, Budget& budget) const;
  const Value* find(std::string_view key) const;
};

// A method with the value it was taken from.
struct Method {
  Value self;
  std::string name;
};

struct Namespace {
  std::vector<std::pair<std::string, Value>> entries;
};

// A for loop that is running.
struct Loop {
  std::vector<Value> items;
  size_t index = 0;
  int nesting = 0;
};

// The arguments of a call, a filter or a test.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
  // In the order of `names`; an InputError that names `who` where others are given, or fewer than `least`.
  std::vector<std::optional<Value>> bind(std::string_view who, const std::vector<std::string_view>& names,
                                         size_t least = 0) const;
};

Value make_text(std::string text, Budget& budget);
Value make_list(std::vector<Value> items, Shape shape = Shape::list);
Value make_dict(std::vector<std::pair<Value, Value>> entries);
Value from_json(const nlohmann::ordered_json& json, int depth = 0);

const std::string* as_text(const Value& value);
const List* as_list(const Value& value);
const Dict* as_dict(const Value& value);
std::optional<int64_t> as_integer(const Value& value);  // bool too, as in Python
bool is_number(const Value& value);
double to_double(const Value& value);  // of a number
inline bool is_undefined(const Value& value) { return std::holds_alternative<Undefined>(value); }
inline bool is_none(const Value& value) { return std::holds_alternative<None>(value); }
std::string kind_of(const Value& value);

bool is_true(const Value& value);
bool equal(const Value& a, const Value& b, Budget& budget);
bool less(const Value& a, const Value& b, Budget& budget);
bool contains(const Value& container, const Value& item, Budget& budget);
std::vector<Value> iterate(const Value& value, Budget& budget);
std::string to_text(const Value& value, Budget& budget);  // Python's str()

struct JsonStyle {
  std::optional<std::string> indent;
  std::string comma = ", ", colon = ": ";
  bool ascii = false, sorted = false;
};
std::string to_json(const Value& value, const JsonStyle& style, Budget& budget);

// The characters of UTF-8 text; a byte that is none stands for itself.
std::vector<std::string_view> characters(std::string_view text);
size_t count_characters(std::string_view text);
// Python's splitlines.
std::vector<std::string_view> split_lines(std::string_view text);
// Python's strip: white space, or any of `chars`.
std::string_view strip(std::string_view text, bool left, bool right,
                       std::optional<std::string_view> chars = std::nullopt);
bool is_space(std::string_view character);
void append_utf8(std::string& out, uint32_t code);

// jinja_attributes.cpp: value.name, value[key], and methods.
Value get_attribute(const Value& value, const std::string& name, Budget& budget);
Value get_item(const Value& value, const Value& key, Budget& budget);
Value call_method(const Method& method, const Arguments& arguments, Budget& budget);
std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string capitalize(std::string_view text);
std::string replace_all(const std::string& text, const std::string& from, const std::string& to, int64_t most,
                        Budget& budget);

// jinja_filters.cpp.
Value apply_filter(const std::string& name, const Value& value, const Arguments& arguments, Budget& budget);
bool apply_test(const std::string& name, const Value& value, const Arguments& arguments, Budget& budget);

}  // namespace plimsoll::jinja
