// A chat template after parsing.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jinja/value.hpp"

namespace plimsoll::jinja {

inline constexpr int deepest_tree = 200;
inline constexpr const char* block_text = "{text}";  // stands for the text of a set block in its filters

struct Expression;
struct Statement;
using ExpressionPtr = std::unique_ptr<const Expression>;
using StatementPtr = std::unique_ptr<const Statement>;

enum class Kind {
  constant,   // value
  name,       // name
  list,       // parts
  tuple,      // parts
  dict,       // parts: key, value, key, value
  attribute,  // parts[0].name
  item,       // parts[0][parts[1]]
  slice,      // parts[0][parts[1]:parts[2]:parts[3]], each may be null
  call,       // parts[0](the rest, named)
  filter,     // parts[0] | name(the rest, named)
  test,       // parts[0] is name(the rest, named)
  negative,   // -parts[0]
  positive,
  negation,     // not parts[0]
  both,         // parts[0] and parts[1]
  either,       // parts[0] or parts[1]
  conditional,  // parts[0] if parts[1] else parts[2], which may be null
  comparison,   // parts[0] name parts[1]
  arithmetic    // parts[0] name parts[1]
};

struct Expression {
  Kind kind;
  std::string name;
  Value value;
  std::vector<ExpressionPtr> parts;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  int depth = 1;
};

// What a for or a set assigns to: a name, name.attribute, or several of them.
struct Target {
  std::string name, attribute;
  std::vector<Target> several;
};

struct Statement {
  enum class Kind {
    block,      // body
    text,       // text
    print,      // value
    condition,  // branches; body is the else
    loop,       // for target in value if filter: body, else otherwise
    set,        // target = value
    set_block,  // target = the text of body, through value where it is given
    macro,      // text(parameters): body
    scope,      // body in a scope of its own: generation
    leave,      // break
    proceed     // continue
  };
  Kind kind;
  std::string text;
  Target target;
  ExpressionPtr value, filter;
  std::vector<StatementPtr> body, otherwise;
  std::vector<std::pair<ExpressionPtr, std::vector<StatementPtr>>> branches;
  std::vector<std::pair<std::string, ExpressionPtr>> parameters;  // with defaults
};

struct Token {
  enum class Type { text, print_begin, print_end, block_begin, block_end, name, string, number, symbol, end };
  Type type;
  std::string text;  // of a string: without quotes, escapes resolved
  Value value;       // of a number
};

std::vector<Token> read_tokens(std::string_view text);  // jinja_tokens.cpp
StatementPtr parse_template(std::string_view text);     // jinja_parse.cpp

}  // namespace plimsoll::jinja
