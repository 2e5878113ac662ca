// The rules of a grammar as parsed text: alternatives with weights over characters and other rules.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

// A symbol below `first_rule` is a character, one from there on a rule.
using Symbols = std::u16string;
constexpr char16_t first_rule = 256;

struct Alternative {
  double probability;
  Symbols symbols;
};
// By rule number; rule 0 is the sentence.
using Rules = std::vector<std::vector<Alternative>>;

// InputError for what is not a rule, a rule undefined or defined twice, recursion, or a weight that is not
// positive.
Rules parse_rules(std::string_view text);

}  // namespace plimsoll
