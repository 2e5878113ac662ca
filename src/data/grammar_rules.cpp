#include "data/grammar_rules.hpp"

#include <charconv>
#include <map>

#include "base/error.hpp"

namespace plimsoll {
namespace {

bool is_white(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_white(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_white(text.back())) text.remove_suffix(1);
  return text;
}

class Parser {
 public:
  Rules parse(std::string_view text) {
    while (!text.empty()) {
      size_t end = std::min(text.find('\n'), text.size());
      line(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    finish_rule();
    if (rules_.empty())
      fail_input("[grammar] there is no rule; expected lines of the form `name: text | text`");
    for (const auto& [name, number] : numbers_)
      if (rules_[number].empty()) fail_input("[grammar] rule <{}> is used but not defined", name);
    std::vector<Visit> visits(rules_.size(), Visit::none);
    refuse_recursion(0, visits);
    return std::move(rules_);
  }

 private:
  enum class Visit { none, open, done };

  void line(std::string_view text) {
    text = text.substr(0, text.find('#'));
    if (trim(text).empty()) return;
    if (is_white(text.front())) {
      if (name_.empty()) fail_input("[grammar] there is text before the first rule: {}", trim(text));
      body_ += text;
      return;
    }
    finish_rule();
    size_t colon = text.find(':');
    if (colon == text.npos || trim(text.substr(0, colon)).empty())
      fail_input("[grammar] not a rule: `{}`; expected `name: text | text`", trim(text));
    name_ = trim(text.substr(0, colon));
    body_ = text.substr(colon + 1);
  }

  void finish_rule() {
    if (name_.empty()) return;
    size_t rule = number(name_);
    if (!rules_[rule].empty()) fail_input("[grammar] rule <{}> is defined twice", name_);
    std::vector<Alternative> alternatives;
    double total = 0;
    std::string_view rest = body_;
    for (bool more = true; more;) {
      size_t bar = rest.find('|');
      alternatives.push_back(alternative(trim(rest.substr(0, bar))));
      total += alternatives.back().probability;
      more = bar != rest.npos;
      if (more) rest.remove_prefix(bar + 1);
    }
    for (Alternative& one : alternatives) one.probability /= total;
    rules_[rule] = std::move(alternatives);
    name_.clear();
  }

  // The probability is still the bare weight here.
  Alternative alternative(std::string_view text) {
    Alternative result{1, {}};
    int weight = 1;
    if (auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), weight);
        code == std::errc()) {
      if (weight < 1)
        fail_input("[grammar] weight {} in rule <{}>; expected a positive integer", weight, name_);
      text.remove_prefix(end - text.data());
      result.probability = weight;
    }
    while (!text.empty()) {
      char c = text.front();
      size_t used = 1;
      if (c == '<') {
        size_t close = text.find('>');
        if (close == text.npos) fail_input("[grammar] `<` without `>` in rule <{}>", name_);
        result.symbols += static_cast<char16_t>(first_rule + number(std::string(text.substr(1, close - 1))));
        used = close + 1;
      } else if (!is_white(c)) {
        result.symbols += static_cast<unsigned char>(c == '_' ? ' ' : c == '/' ? '\n' : c);
      }
      text.remove_prefix(used);
    }
    return result;
  }

  size_t number(const std::string& name) {
    auto [place, is_new] = numbers_.try_emplace(name, rules_.size());
    if (is_new) rules_.emplace_back();
    return place->second;
  }

  void refuse_recursion(size_t rule, std::vector<Visit>& visits) {
    if (visits[rule] == Visit::done) return;
    if (visits[rule] == Visit::open)
      fail_input("[grammar] the rules are recursive; there must be finitely many sentences");
    visits[rule] = Visit::open;
    for (const Alternative& one : rules_[rule])
      for (char16_t symbol : one.symbols)
        if (symbol >= first_rule) refuse_recursion(symbol - first_rule, visits);
    visits[rule] = Visit::done;
  }

  Rules rules_;
  std::map<std::string, size_t> numbers_;
  std::string name_, body_;  // of the rule being read
};

}  // namespace

Rules parse_rules(std::string_view text) { return Parser().parse(text); }

}  // namespace plimsoll
