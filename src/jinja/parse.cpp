// Statements and expressions of chat templates, by recursive descent.
#include <algorithm>

#include "jinja/tree.hpp"

namespace plimsoll::jinja {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : tokens_(read_tokens(text)) {}

  StatementPtr parse() {
    auto root = statement(Statement::Kind::block);
    root->body = parse_body({});
    return root;
  }

 private:
  using Type = Token::Type;
  using Body = std::vector<StatementPtr>;

  // One level of recursion.
  struct Level {
    explicit Level(int& depth) : depth_(depth) { check_depth(++depth_); }
    ~Level() { --depth_; }
    int& depth_;
  };
  static void check_depth(int depth) {
    if (depth > deepest_tree) fail_input("the chat template nests deeper than {}", deepest_tree);
  }

  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  bool is(Type type, std::string_view text, size_t ahead = 0) const {
    return peek(ahead).type == type && peek(ahead).text == text;
  }
  bool is_symbol(std::string_view text) const { return is(Type::symbol, text); }
  bool is_word(std::string_view text) const { return is(Type::name, text); }
  bool take(Type type, std::string_view text) {
    if (!is(type, text)) return false;
    ++at_;
    return true;
  }
  bool take_symbol(std::string_view text) { return take(Type::symbol, text); }
  bool take_word(std::string_view text) { return take(Type::name, text); }
  void expect(Type type, std::string_view text) {
    if (!take(type, text)) fail_at(fmt::format("'{}'", text));
  }
  void expect_end(Type type) {
    if (peek().type != type) fail_at("the end of the tag");
    ++at_;
  }
  std::string expect_name() {
    if (peek().type != Type::name) fail_at("a name");
    return tokens_[at_++].text;
  }
  [[noreturn]] void fail_at(const std::string& wanted) const {
    const Token& token = peek();
    if (token.type == Type::block_end || token.type == Type::print_end)
      fail_input("the chat template has a tag that ends where {} is expected", wanted);
    if (token.type == Type::end) fail_input("the chat template ends where {} is expected", wanted);
    fail_input("the chat template has '{}' where {} is expected", token.text.substr(0, 40), wanted);
  }

  static std::unique_ptr<Statement> statement(Statement::Kind kind) {
    auto made = std::make_unique<Statement>();
    made->kind = kind;
    return made;
  }

  // Statements up to one of the words in `ends`, which is left to be read with its name.
  Body parse_body(const std::vector<std::string_view>& ends) {
    const Level level(depth_);
    Body body;
    while (true) {
      const Token& token = peek();
      if (token.type == Type::end) {
        if (!ends.empty()) fail_input("the chat template has no {}", ends.back());
        return body;
      }
      ++at_;
      if (token.type == Type::text) {
        auto text = statement(Statement::Kind::text);
        text->text = token.text;
        body.push_back(std::move(text));
      } else if (token.type == Type::print_begin) {
        auto print = statement(Statement::Kind::print);
        print->value = parse_tuple();
        expect_end(Type::print_end);
        body.push_back(std::move(print));
      } else {
        if (std::any_of(ends.begin(), ends.end(), [&](auto end) { return is_word(end); })) return body;
        body.push_back(parse_statement());
      }
    }
  }

  Body parse_body_to(std::string_view end) {
    expect_end(Type::block_end);
    Body body = parse_body({end});
    expect(Type::name, end);
    expect_end(Type::block_end);
    return body;
  }

  StatementPtr parse_statement() {
    const std::string word = expect_name();
    if (word == "if") return parse_if();
    if (word == "for") return parse_for();
    if (word == "set") return parse_set();
    if (word == "macro") return parse_macro();
    if (word == "generation") {
      auto made = statement(Statement::Kind::scope);
      const bool in_loop = std::exchange(in_loop_, false);
      made->body = parse_body_to("endgeneration");
      in_loop_ = in_loop;
      return made;
    }
    if (word == "break" || word == "continue") {
      if (!in_loop_) fail_input("the chat template has a {} outside of a loop", word);
      expect_end(Type::block_end);
      return statement(word == "break" ? Statement::Kind::leave : Statement::Kind::proceed);
    }
    fail_input("the chat template uses the statement '{}', which is not known", word.substr(0, 40));
  }

  StatementPtr parse_if() {
    auto made = statement(Statement::Kind::condition);
    while (true) {
      ExpressionPtr condition = parse_tuple(false);
      expect_end(Type::block_end);
      made->branches.emplace_back(std::move(condition), parse_body({"elif", "else", "endif"}));
      if (take_word("elif")) continue;
      if (take_word("else")) {
        made->body = parse_body_to("endif");
      } else {
        expect(Type::name, "endif");
        expect_end(Type::block_end);
      }
      return made;
    }
  }

  StatementPtr parse_for() {
    auto made = statement(Statement::Kind::loop);
    made->target = parse_targets(false);
    expect(Type::name, "in");
    made->value = parse_tuple(false);
    if (take_word("if")) made->filter = parse_expression();
    if (is_word("recursive")) fail_input("the chat template uses a recursive loop, which is not known");
    expect_end(Type::block_end);
    const bool in_loop = std::exchange(in_loop_, true);
    made->body = parse_body({"else", "endfor"});
    in_loop_ = in_loop;
    if (take_word("else")) {
      made->otherwise = parse_body_to("endfor");
    } else {
      expect(Type::name, "endfor");
      expect_end(Type::block_end);
    }
    return made;
  }

  Target parse_target(bool with_attribute) {
    const Level level(depth_);
    if (take_symbol("(")) {
      Target target = parse_targets(with_attribute);
      expect(Type::symbol, ")");
      return target;
    }
    Target target{expect_name(), "", {}};
    for (const std::string_view word : {"true", "false", "none", "True", "False", "None", "loop"})
      if (target.name == word) fail_input("the chat template assigns to '{}'", word);
    if (with_attribute && take_symbol(".")) target.attribute = expect_name();
    return target;
  }

  Target parse_targets(bool with_attribute) {
    Target target = parse_target(with_attribute);
    if (!is_symbol(",")) return target;
    Target all;
    all.several.push_back(std::move(target));
    while (take_symbol(",") && (peek().type == Type::name || is_symbol("(")) && !is_word("in"))
      all.several.push_back(parse_target(with_attribute));
    return all;
  }

  StatementPtr parse_set() {
    auto made = statement(Statement::Kind::set);
    made->target = parse_targets(true);
    if (take_symbol("=")) {
      made->value = parse_tuple();
      expect_end(Type::block_end);
      return made;
    }
    made->kind = Statement::Kind::set_block;
    // The filters apply to the text of the block, which stands under a name nobody else can write.
    if (is_symbol("|")) made->value = parse_filters(make(Kind::name, block_text));
    const bool in_loop = std::exchange(in_loop_, false);
    made->body = parse_body_to("endset");
    in_loop_ = in_loop;
    return made;
  }

  StatementPtr parse_macro() {
    auto made = statement(Statement::Kind::macro);
    made->text = expect_name();
    expect(Type::symbol, "(");
    while (!take_symbol(")")) {
      if (!made->parameters.empty()) expect(Type::symbol, ",");
      std::string name = expect_name();
      ExpressionPtr fallback = take_symbol("=") ? parse_expression() : nullptr;
      if (!fallback && !made->parameters.empty() && made->parameters.back().second) fail_at("a default");
      made->parameters.emplace_back(std::move(name), std::move(fallback));
    }
    const bool in_loop = std::exchange(in_loop_, false);
    made->body = parse_body_to("endmacro");
    in_loop_ = in_loop;
    return made;
  }

  // Expressions, the loosest first.

  static ExpressionPtr finish(std::unique_ptr<Expression> made) {
    for (const auto& part : made->parts)
      if (part) made->depth = std::max(made->depth, part->depth + 1);
    for (const auto& part : made->named) made->depth = std::max(made->depth, part.second->depth + 1);
    check_depth(made->depth);
    return made;
  }
  template <typename... Parts>
  static ExpressionPtr make(Kind kind, std::string name, Parts... parts) {
    auto made = std::make_unique<Expression>();
    made->kind = kind;
    made->name = std::move(name);
    (made->parts.push_back(std::move(parts)), ...);
    return finish(std::move(made));
  }
  static ExpressionPtr make_constant(Value value) {
    auto made = std::make_unique<Expression>();
    made->kind = Kind::constant;
    made->value = std::move(value);
    return made;
  }

  bool at_tuple_end() const {
    const Type type = peek().type;
    return type == Type::print_end || type == Type::block_end || is_symbol(")");
  }

  ExpressionPtr parse_tuple(bool conditional = true) {
    const auto parse_one = [&] { return conditional ? parse_expression() : parse_either(); };
    ExpressionPtr first = parse_one();
    if (!is_symbol(",")) return first;
    auto made = std::make_unique<Expression>();
    made->kind = Kind::tuple;
    made->parts.push_back(std::move(first));
    while (take_symbol(",") && !at_tuple_end()) made->parts.push_back(parse_one());
    return finish(std::move(made));
  }

  ExpressionPtr parse_expression() {
    const Level level(depth_);
    ExpressionPtr left = parse_either();
    while (take_word("if")) {
      ExpressionPtr condition = parse_either();
      ExpressionPtr otherwise = take_word("else") ? parse_expression() : nullptr;
      left = make(Kind::conditional, "", std::move(left), std::move(condition), std::move(otherwise));
    }
    return left;
  }

  ExpressionPtr parse_either() {
    ExpressionPtr left = parse_both();
    while (take_word("or")) left = make(Kind::either, "", std::move(left), parse_both());
    return left;
  }

  ExpressionPtr parse_both() {
    ExpressionPtr left = parse_negation();
    while (take_word("and")) left = make(Kind::both, "", std::move(left), parse_negation());
    return left;
  }

  ExpressionPtr parse_negation() {
    const Level level(depth_);
    if (take_word("not")) return make(Kind::negation, "", parse_negation());
    return parse_comparison();
  }

  std::string take_comparison() {
    for (const std::string_view symbol : {"==", "!=", "<=", ">=", "<", ">"})
      if (take_symbol(symbol)) return std::string(symbol);
    if (take_word("in")) return "in";
    if (is_word("not") && is(Type::name, "in", 1)) {
      at_ += 2;
      return "not in";
    }
    return "";
  }

  ExpressionPtr parse_comparison() {
    ExpressionPtr left = parse_sum();
    std::string sign = take_comparison();
    if (sign.empty()) return left;
    left = make(Kind::comparison, std::move(sign), std::move(left), parse_sum());
    if (!take_comparison().empty()) fail_input("the chat template chains comparisons, which is not known");
    return left;
  }

  // A chain of operators of one precedence, from left to right.
  template <typename Next>
  ExpressionPtr parse_chain(std::initializer_list<std::string_view> symbols, Next next) {
    ExpressionPtr left = next();
    while (peek().type == Type::symbol &&
           std::find(symbols.begin(), symbols.end(), peek().text) != symbols.end()) {
      std::string symbol = tokens_[at_++].text;
      left = make(Kind::arithmetic, std::move(symbol), std::move(left), next());
    }
    return left;
  }
  ExpressionPtr parse_sum() {
    return parse_chain({"+", "-"}, [&] { return parse_concatenation(); });
  }
  ExpressionPtr parse_concatenation() {
    return parse_chain({"~"}, [&] { return parse_product(); });
  }
  ExpressionPtr parse_product() {
    return parse_chain({"*", "/", "//", "%"}, [&] { return parse_unary(true); });
  }

  ExpressionPtr parse_unary(bool with_filters) {
    const Level level(depth_);
    ExpressionPtr made = take_symbol("-")   ? make(Kind::negative, "", parse_unary(false))
                         : take_symbol("+") ? make(Kind::positive, "", parse_unary(false))
                                            : parse_primary();
    made = parse_postfix(std::move(made));
    return with_filters ? parse_filters(std::move(made)) : std::move(made);
  }

  ExpressionPtr parse_primary() {
    const Token& token = peek();
    if (token.type == Type::name) {
      ++at_;
      if (token.text == "true" || token.text == "True") return make_constant(true);
      if (token.text == "false" || token.text == "False") return make_constant(false);
      if (token.text == "none" || token.text == "None") return make_constant(None{});
      return make(Kind::name, token.text);
    }
    if (token.type == Type::number) return ++at_, make_constant(token.value);
    if (token.type == Type::string) {
      std::string text;
      while (peek().type == Type::string) text += tokens_[at_++].text;
      return make_constant(std::make_shared<const std::string>(std::move(text)));
    }
    if (take_symbol("(")) {
      if (take_symbol(")")) return make(Kind::tuple, "");
      ExpressionPtr inside = parse_tuple();
      expect(Type::symbol, ")");
      return inside;
    }
    if (take_symbol("[")) return parse_items(Kind::list, "]");
    if (take_symbol("{")) return parse_items(Kind::dict, "}");
    fail_at("an expression");
  }

  ExpressionPtr parse_items(Kind kind, std::string_view end) {
    auto made = std::make_unique<Expression>();
    made->kind = kind;
    while (!take_symbol(end)) {
      if (!made->parts.empty()) {
        expect(Type::symbol, ",");
        if (take_symbol(end)) break;
      }
      made->parts.push_back(parse_expression());
      if (kind != Kind::dict) continue;
      expect(Type::symbol, ":");
      made->parts.push_back(parse_expression());
    }
    return finish(std::move(made));
  }

  ExpressionPtr parse_postfix(ExpressionPtr made) {
    while (true) {
      if (take_symbol(".")) {
        if (peek().type == Type::number)
          made = make(Kind::item, "", std::move(made), make_constant(tokens_[at_++].value));
        else
          made = make(Kind::attribute, expect_name(), std::move(made));
      } else if (take_symbol("[")) {
        made = parse_subscript(std::move(made));
      } else if (is_symbol("(")) {
        made = parse_arguments(Kind::call, "", std::move(made));
      } else {
        return made;
      }
    }
  }

  ExpressionPtr parse_subscript(ExpressionPtr of) {
    ExpressionPtr parts[3];
    bool slice = false;
    for (int i = 0; i < 3; ++i) {
      if (!is_symbol(":") && !is_symbol("]")) parts[i] = parse_expression();
      if (i == 2 || !take_symbol(":")) break;
      slice = true;
    }
    if (!slice && !parts[0]) fail_at("an index");
    expect(Type::symbol, "]");
    if (!slice) return make(Kind::item, "", std::move(of), std::move(parts[0]));
    return make(Kind::slice, "", std::move(of), std::move(parts[0]), std::move(parts[1]),
                std::move(parts[2]));
  }

  ExpressionPtr parse_arguments(Kind kind, std::string name, ExpressionPtr of) {
    auto made = std::make_unique<Expression>();
    made->kind = kind;
    made->name = std::move(name);
    made->parts.push_back(std::move(of));
    if (!take_symbol("(")) return finish(std::move(made));
    for (bool first = true; !take_symbol(")"); first = false) {
      if (!first) expect(Type::symbol, ",");
      if (take_symbol(")")) break;
      if (is_symbol("*") || is_symbol("**"))
        fail_input("the chat template unpacks arguments, which is not known");
      if (peek().type == Type::name && is(Type::symbol, "=", 1)) {
        std::string argument = expect_name();
        ++at_;
        made->named.emplace_back(std::move(argument), parse_expression());
      } else {
        if (!made->named.empty()) fail_at("a named argument");
        made->parts.push_back(parse_expression());
      }
    }
    return finish(std::move(made));
  }

  std::string parse_dotted_name() {
    std::string name = expect_name();
    while (take_symbol(".")) name += "." + expect_name();
    return name;
  }

  ExpressionPtr parse_filters(ExpressionPtr made) {
    while (true) {
      if (take_symbol("|")) {
        std::string name = parse_dotted_name();
        made = parse_arguments(Kind::filter, std::move(name), std::move(made));
      } else if (take_word("is")) {
        made = parse_test(std::move(made));
      } else if (is_symbol("(")) {
        made = parse_arguments(Kind::call, "", std::move(made));
      } else {
        return made;
      }
    }
  }

  ExpressionPtr parse_test(ExpressionPtr of) {
    const bool negated = take_word("not");
    std::string name = parse_dotted_name();
    const Type type = peek().type;
    const bool argument = type == Type::string || type == Type::number || is_symbol("[") || is_symbol("{") ||
                          (type == Type::name && !is_word("else") && !is_word("or") && !is_word("and"));
    ExpressionPtr made;
    if (argument) {
      if (is_word("is")) fail_input("the chat template chains tests, which is not known");
      const Level level(depth_);
      ExpressionPtr with = parse_postfix(parse_primary());
      made = make(Kind::test, std::move(name), std::move(of), std::move(with));
    } else {
      made = parse_arguments(Kind::test, std::move(name), std::move(of));
    }
    return negated ? make(Kind::negation, "", std::move(made)) : std::move(made);
  }

  const std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
  bool in_loop_ = false;
};

}  // namespace

StatementPtr parse_template(std::string_view text) { return Parser(text).parse(); }

}  // namespace plimsoll::jinja
