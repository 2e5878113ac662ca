#include <algorithm>
#include <cmath>
#include <deque>
#include <map>

#include "base/mask.hpp"
#include "jinja/jinja.hpp"
#include "jinja/tree.hpp"

namespace plimsoll {
namespace jinja {

// The names that can be seen from one place. A for loop, a macro and a block have their own.
struct Scope {
  std::shared_ptr<Scope> parent;
  std::map<std::string, Value, std::less<>> names;
};

struct Macro {
  const Statement* statement;
  std::shared_ptr<Scope> scope;
};

namespace {

constexpr int deepest_calls = 50, deepest_evaluation = 600;
constexpr int64_t longest_range = 100'000;  // as Jinja's sandbox has it

// By reference: arguments are evaluated in any order.
int64_t checked(bool overflow, const int64_t& result) {
  if (overflow) fail_input("the chat template computes with a number that is too large");
  return result;
}

Value compute_integers(const std::string& symbol, int64_t a, int64_t b) {
  int64_t result = 0;
  if (symbol == "+") return checked(__builtin_add_overflow(a, b, &result), result);
  if (symbol == "-") return checked(__builtin_sub_overflow(a, b, &result), result);
  if (symbol == "*") return checked(__builtin_mul_overflow(a, b, &result), result);
  if (b == 0) fail_input("the chat template divides by zero");
  if (symbol == "/") return double(a) / double(b);
  if (b == -1) return symbol == "%" ? int64_t(0) : checked(__builtin_sub_overflow(0, a, &result), result);
  // Rounded down, as in Python.
  const bool down = a % b != 0 && (a < 0) != (b < 0);
  return symbol == "%" ? a % b + (down ? b : 0) : a / b - down;
}

Value compute_doubles(const std::string& symbol, double a, double b) {
  if (symbol == "+") return a + b;
  if (symbol == "-") return a - b;
  if (symbol == "*") return a * b;
  if (b == 0) fail_input("the chat template divides by zero");
  if (symbol == "/") return a / b;
  double rest = std::fmod(a, b);
  if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
  return symbol == "%" ? rest : std::floor((a - rest) / b + 0.5);
}

class Rendering {
 public:
  explicit Rendering(const nlohmann::ordered_json& context) : scope_(std::make_shared<Scope>()) {
    scope_->names = {{"raise_exception", Function::raise_exception},
                     {"namespace", Function::make_namespace},
                     {"range", Function::range},
                     {"dict", Function::dict}};
    if (!context.is_object()) fail_input("a chat template is given something that is no object");
    for (const auto& [key, value] : context.items()) scope_->names[key] = from_json(value);
    enter();
  }

  std::string render(const Statement& root) {
    run_all(root.body);
    return std::move(out_);
  }

 private:
  enum class Flow { next, leave, proceed };

  // One level of evaluation: the stack is finite.
  struct Level {
    Level(int& depth, int most) : depth_(depth) {
      if (++depth_ > most) {
        --depth_;
        fail_input("the chat template calls itself too deep");
      }
    }
    ~Level() { --depth_; }
    int& depth_;
  };

  // Puts the scope back as it was.
  struct Within {
    explicit Within(std::shared_ptr<Scope>& scope) : scope_(scope), before_(scope) {}
    ~Within() { scope_ = before_; }
    std::shared_ptr<Scope>& scope_;
    std::shared_ptr<Scope> before_;
  };
  void enter() { scope_ = std::make_shared<Scope>(Scope{scope_, {}}); }

  void print(const std::string& text) {
    budget_.spend_bytes(text.size());
    if (out_.size() + text.size() > Budget::most_bytes)
      fail_input("the chat template writes more than 4 MiB");
    out_ += text;
  }

  // What `body` prints, in a scope of its own.
  std::string capture(const std::vector<StatementPtr>& body) {
    const Within within(scope_);
    enter();
    std::string outside = std::exchange(out_, {});
    run_all(body);
    return std::exchange(out_, std::move(outside));
  }

  Flow run_all(const std::vector<StatementPtr>& body) {
    for (const StatementPtr& statement : body)
      if (const Flow flow = run(*statement); flow != Flow::next) return flow;
    return Flow::next;
  }

  Flow run(const Statement& statement) {
    using Is = Statement::Kind;
    const Level level(depth_, deepest_evaluation);
    budget_.spend();
    switch (statement.kind) {
      case Is::block:
        return run_all(statement.body);
      case Is::text:
        print(statement.text);
        break;
      case Is::print:
        print(to_text(evaluate(*statement.value), budget_));
        break;
      case Is::condition:
        for (const auto& [condition, body] : statement.branches)
          if (is_true(evaluate(*condition))) return run_all(body);
        return run_all(statement.body);
      case Is::loop:
        return run_loop(statement);
      case Is::set:
        assign(statement.target, evaluate(*statement.value));
        break;
      case Is::set_block: {
        Value text = make_text(capture(statement.body), budget_);
        if (statement.value) {
          const Within within(scope_);
          enter();
          scope_->names[block_text] = text;
          text = evaluate(*statement.value);
        }
        assign(statement.target, text);
        break;
      }
      case Is::macro:
        macros_.push_back({&statement, scope_});
        scope_->names[statement.text] = &macros_.back();
        break;
      case Is::scope:
        print(capture(statement.body));
        break;
      case Is::leave:
        return Flow::leave;
      case Is::proceed:
        return Flow::proceed;
    }
    return Flow::next;
  }

  // A flow out of the else of a loop belongs to the loop around it.
  Flow run_loop(const Statement& statement) {
    std::vector<Value> items = iterate(evaluate(*statement.value), budget_);
    const Within within(scope_);
    if (statement.filter) {
      std::vector<Value> kept;
      for (Value& item : items) {
        const Within within_item(scope_);
        enter();
        assign(statement.target, item);
        if (is_true(evaluate(*statement.filter))) kept.push_back(std::move(item));
      }
      items = std::move(kept);
    }
    if (items.empty()) {
      enter();
      return run_all(statement.otherwise);
    }
    loops_.push_back({std::move(items), 0, nesting_ + 1});
    Loop& loop = loops_.back();
    const Level level(nesting_, deepest_evaluation);
    for (; loop.index < loop.items.size(); ++loop.index) {
      budget_.spend();
      const Within within_item(scope_);
      enter();
      scope_->names["loop"] = &loop;
      assign(statement.target, loop.items[loop.index]);
      if (run_all(statement.body) == Flow::leave) break;
    }
    return Flow::next;
  }

  void assign(const Target& target, const Value& value) {
    if (!target.several.empty()) {
      const std::vector<Value> items = iterate(value, budget_);
      if (items.size() != target.several.size())
        fail_input("the chat template takes {} apart into {} names", kind_of(value), target.several.size());
      for (size_t i = 0; i < items.size(); ++i) assign(target.several[i], items[i]);
    } else if (target.attribute.empty()) {
      scope_->names[target.name] = value;
    } else {
      const Value of = look_up(target.name);
      auto* const* space = std::get_if<Namespace*>(&of);
      if (!space) fail_input("the chat template sets '{}' of {}", target.attribute, kind_of(of));
      set_entry(**space, target.attribute, value);
    }
  }

  void set_entry(Namespace& space, const std::string& name, const Value& value) {
    if (name.starts_with('_')) fail_input("the chat template sets '{}' of a namespace", name);
    budget_.spend(1 + space.entries.size() / 16);
    for (auto& entry : space.entries)
      if (entry.first == name) {
        entry.second = value;
        return;
      }
    space.entries.emplace_back(name, value);
  }

  Value look_up(const std::string& name) {
    for (const Scope* scope = scope_.get(); scope; scope = scope->parent.get())
      if (const auto found = scope->names.find(name); found != scope->names.end()) return found->second;
    return Undefined{name};
  }

  Value evaluate(const Expression& expression) {
    const Level level(depth_, deepest_evaluation);
    budget_.spend();
    const auto part = [&](size_t i) { return evaluate(*expression.parts[i]); };
    switch (expression.kind) {
      case Kind::constant:
        return expression.value;
      case Kind::name:
        return look_up(expression.name);
      case Kind::list:
      case Kind::tuple: {
        std::vector<Value> items;
        for (const ExpressionPtr& item : expression.parts) items.push_back(evaluate(*item));
        return make_list(std::move(items), expression.kind == Kind::list ? Shape::list : Shape::tuple);
      }
      case Kind::dict: {
        Dict dict{};
        for (size_t i = 0; i < expression.parts.size(); i += 2) set_key(dict, part(i), part(i + 1));
        return make_dict(std::move(dict.entries));
      }
      case Kind::attribute:
        return get_attribute(part(0), expression.name, budget_);
      case Kind::item:
        return get_item(part(0), part(1), budget_);
      case Kind::slice:
        return slice(expression);
      case Kind::call:
        return call(part(0), arguments_of(expression));
      case Kind::filter:
        return apply_filter(expression.name, part(0), arguments_of(expression), budget_);
      case Kind::test:
        return apply_test(expression.name, part(0), arguments_of(expression), budget_);
      case Kind::negative:
      case Kind::positive: {
        const Value value = part(0);
        if (!is_number(value)) fail_input("the chat template computes with {}", kind_of(value));
        const int64_t sign = expression.kind == Kind::negative ? -1 : 1;
        if (const auto integer = as_integer(value)) return compute_integers("*", *integer, sign);
        return to_double(value) * double(sign);
      }
      case Kind::negation:
        return !is_true(part(0));
      case Kind::both: {
        const Value left = part(0);
        return is_true(left) ? part(1) : left;
      }
      case Kind::either: {
        const Value left = part(0);
        return is_true(left) ? left : part(1);
      }
      case Kind::conditional:
        if (is_true(part(1))) return part(0);
        return expression.parts[2] ? part(2) : Undefined{};
      case Kind::comparison:
        return compare(expression.name, part(0), part(1));
      case Kind::arithmetic:
        return compute(expression.name, part(0), part(1));
    }
    return Undefined{};
  }

  void set_key(Dict& dict, const Value& key, const Value& value) {
    if (const Value* found = dict.find(key, budget_))
      const_cast<Value&>(*found) = value;
    else
      dict.entries.emplace_back(key, value);
  }

  bool compare(const std::string& sign, const Value& a, const Value& b) {
    if (sign == "==") return equal(a, b, budget_);
    if (sign == "!=") return !equal(a, b, budget_);
    if (sign == "in") return contains(b, a, budget_);
    if (sign == "not in") return !contains(b, a, budget_);
    if (sign == "<") return less(a, b, budget_);
    if (sign == ">") return less(b, a, budget_);
    return less(a, b, budget_) == (sign == "<=") || equal(a, b, budget_);
  }

  Value compute(const std::string& symbol, const Value& a, const Value& b) {
    if (symbol == "~") return make_text(to_text(a, budget_) + to_text(b, budget_), budget_);
    if (const auto left = as_integer(a), right = as_integer(b); left && right)
      return compute_integers(symbol, *left, *right);
    if (is_number(a) && is_number(b)) return compute_doubles(symbol, to_double(a), to_double(b));
    if (symbol == "+") {
      if (as_text(a) && as_text(b)) return make_text(*as_text(a) + *as_text(b), budget_);
      const List *left = as_list(a), *right = as_list(b);
      if (left && right && left->shape == right->shape && left->shape <= Shape::tuple) {
        std::vector<Value> items = iterate(a, budget_), more = iterate(b, budget_);
        items.insert(items.end(), more.begin(), more.end());
        return make_list(std::move(items), left->shape);
      }
    }
    if (symbol == "*" && as_integer(b)) return repeat(a, *as_integer(b));
    if (symbol == "*" && as_integer(a)) return repeat(b, *as_integer(a));
    fail_input("the chat template has {} {} {}", kind_of(a), symbol, kind_of(b));
  }

  Value repeat(const Value& value, int64_t times) {
    const auto count = size_t(std::clamp<int64_t>(times, 0, int64_t(Budget::most_bytes) + 1));
    if (const std::string* text = as_text(value)) {
      budget_.spend_bytes(text->size() * count);
      std::string out;
      for (size_t i = 0; i < count && !text->empty() && out.size() <= Budget::most_bytes; ++i) out += *text;
      return make_text(std::move(out), budget_);
    }
    const List* list = as_list(value);
    if (!list || list->shape > Shape::tuple) fail_input("the chat template repeats {}", kind_of(value));
    budget_.spend(list->items.size() * count);
    std::vector<Value> items;
    for (size_t i = 0; i < count && !list->items.empty(); ++i)
      items.insert(items.end(), list->items.begin(), list->items.end());
    return make_list(std::move(items), list->shape);
  }

  // value[begin:end:step], as Python counts.
  Value slice(const Expression& expression) {
    const Value value = evaluate(*expression.parts[0]);
    std::optional<int64_t> given[3];
    for (size_t i = 0; i < 3; ++i) {
      if (!expression.parts[i + 1]) continue;
      const Value bound = evaluate(*expression.parts[i + 1]);
      given[i] = as_integer(bound);
      if (!given[i] && !is_none(bound)) fail_input("the chat template slices by {}", kind_of(bound));
    }
    const List* list = as_list(value);
    if (!as_text(value) && !(list && list->shape <= Shape::range))
      fail_input("the chat template slices {}", kind_of(value));
    std::vector<Value> items;
    std::vector<std::string_view> letters;
    if (list) {
      items = iterate(value, budget_);
    } else {
      budget_.spend_bytes(as_text(value)->size());
      letters = characters(*as_text(value));
    }
    const auto length = int64_t(list ? items.size() : letters.size());
    const int64_t step = std::clamp<int64_t>(given[2].value_or(1), -length - 1, length + 1);
    if (step == 0) fail_input("the chat template slices by steps of zero");
    const auto bounded = [&](std::optional<int64_t> at, int64_t fallback) {
      if (!at) return fallback;
      const int64_t from_begin = *at < 0 ? std::max(*at, -length - 1) + length : *at;
      return std::clamp<int64_t>(from_begin, step > 0 ? 0 : -1, step > 0 ? length : length - 1);
    };
    const int64_t begin = bounded(given[0], step > 0 ? 0 : length - 1);
    const int64_t end = bounded(given[1], step > 0 ? length : -1);
    std::vector<Value> kept;
    std::string out;
    for (int64_t i = begin; step > 0 ? i < end : i > end; i += step)
      if (list)
        kept.push_back(items[size_t(i)]);
      else
        out += letters[size_t(i)];
    return list ? make_list(std::move(kept), list->shape) : make_text(std::move(out), budget_);
  }

  Arguments arguments_of(const Expression& expression) {
    Arguments arguments;
    for (size_t i = 1; i < expression.parts.size(); ++i)
      arguments.positional.push_back(evaluate(*expression.parts[i]));
    for (const auto& [name, value] : expression.named) arguments.named.emplace_back(name, evaluate(*value));
    return arguments;
  }

  Value call(const Value& callee, const Arguments& arguments) {
    if (const auto* method = std::get_if<std::shared_ptr<const Method>>(&callee))
      return call_method(**method, arguments, budget_);
    if (auto* const* macro = std::get_if<Macro*>(&callee)) return call_macro(**macro, arguments);
    const Function* function = std::get_if<Function>(&callee);
    if (!function) fail_input("the chat template calls {}", kind_of(callee));
    if (*function == Function::raise_exception)
      throw JinjaRaised(
          "the model's chat template refuses it: " +
          to_text(*arguments.bind("raise_exception", {"message"}, 1)[0], budget_).substr(0, 200));
    if (*function == Function::range) return make_range(arguments);
    return make_entries(*function, arguments);
  }

  Value call_macro(const Macro& macro, const Arguments& arguments) {
    const Level level(calls_, deepest_calls);
    const Statement& statement = *macro.statement;
    std::vector<std::string_view> names;
    for (const auto& parameter : statement.parameters) names.push_back(parameter.first);
    const auto given = arguments.bind(statement.text, names);
    const Within within(scope_);
    scope_ = macro.scope;
    enter();
    for (size_t i = 0; i < given.size(); ++i) {
      const auto& [name, fallback] = statement.parameters[i];
      scope_->names[name] = given[i] ? *given[i] : fallback ? evaluate(*fallback) : Undefined{name};
    }
    return make_text(capture(statement.body), budget_);
  }

  Value make_range(const Arguments& arguments) {
    const auto given = arguments.bind("range", {"start", "stop", "step"}, 1);
    int64_t bounds[3] = {0, 0, 1};
    for (size_t i = 0; i < 3; ++i) {
      if (!given[i]) continue;
      const auto integer = as_integer(*given[i]);
      if (!integer) fail_input("the chat template gives 'range' {}", kind_of(*given[i]));
      bounds[i] = *integer;
    }
    if (!given[1]) std::swap(bounds[0], bounds[1]);
    const auto [begin, end, step] = bounds;
    if (step == 0) fail_input("the chat template uses a range with steps of zero");
    std::vector<Value> items;
    for (int64_t i = begin; step > 0 ? i < end : i > end;) {
      if (int64_t(items.size()) == longest_range)
        fail_input("the chat template uses a range of more than {}", longest_range);
      budget_.spend();
      items.push_back(i);
      if (__builtin_add_overflow(i, step, &i)) break;
    }
    return make_list(std::move(items), Shape::range);
  }

  // namespace(...) and dict(...): another dict, pairs, or names.
  Value make_entries(Function function, const Arguments& arguments) {
    Dict dict{};
    if (arguments.positional.size() > 1) fail_input("the chat template gives 'dict' too many arguments");
    for (const Value& from : arguments.positional) {
      const Value pairs = as_dict(from) ? call_method({from, "items"}, {}, budget_) : from;
      for (const Value& pair : iterate(pairs, budget_)) {
        const std::vector<Value> both = iterate(pair, budget_);
        if (both.size() != 2) fail_input("the chat template makes a dict of what are no pairs");
        set_key(dict, both[0], both[1]);
      }
    }
    for (const auto& [name, value] : arguments.named) set_key(dict, make_text(name, budget_), value);
    if (function == Function::dict) return make_dict(std::move(dict.entries));
    spaces_.emplace_back();
    for (const auto& [key, value] : dict.entries) set_entry(spaces_.back(), to_text(key, budget_), value);
    return &spaces_.back();
  }

  Budget budget_;
  std::deque<Macro> macros_;
  std::deque<Namespace> spaces_;
  std::deque<Loop> loops_;
  std::shared_ptr<Scope> scope_;
  std::string out_;
  int depth_ = 0, calls_ = 0, nesting_ = 0;
};

}  // namespace
}  // namespace jinja

// Messages may name what the template or a conversation says.
JinjaTemplate::JinjaTemplate(std::string_view text) try : root_(jinja::parse_template(text)) {
} catch (const InputError& error) {
  throw InputError(escape(error.what()));
}
JinjaTemplate::~JinjaTemplate() = default;
JinjaTemplate::JinjaTemplate(JinjaTemplate&&) noexcept = default;
JinjaTemplate& JinjaTemplate::operator=(JinjaTemplate&&) noexcept = default;

std::string JinjaTemplate::render(const nlohmann::ordered_json& context) const try {
  return jinja::Rendering(context).render(*root_);
} catch (const JinjaRaised& error) {
  throw JinjaRaised(escape(error.what()));
} catch (const InputError& error) {
  throw InputError(escape(error.what()));
}

}  // namespace plimsoll
