#include "data/grammar.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "base/error.hpp"
#include "data/corpus.hpp"
#include "data/grammar_rules.hpp"

namespace plimsoll {
namespace {

// Agreement that `the` does not reveal, a shared prefix, an empty alternative and a string with two
// derivations.
constexpr const char* toy_rules = R"(
s: 5 the_<adj?><noun>_<verb>s<end>   # one
  | 3 the_<adj?><noun>s_<verb><end>
  | 2 a<noun><end>
end: 3 ./ | 1 !/
adj?: 2 | 1 <adj>_
adj: 2 red | 1 rare
noun: 3 cat | 1 cats | 2 cow
verb: ran | 2 rest
)";

using Distribution = std::map<std::string, double>;

// All strings of a sequence of symbols with the sum of their derivations' probabilities, straight from the
// rules.
void derive(const Rules& rules, const Symbols& symbols, std::string done, double probability,
            Distribution& out) {
  if (symbols.empty()) {
    out[done] += probability;
  } else if (symbols[0] < first_rule) {
    derive(rules, symbols.substr(1), done + static_cast<char>(symbols[0]), probability, out);
  } else {
    for (const Alternative& one : rules[symbols[0] - first_rule])
      derive(rules, one.symbols + symbols.substr(1), done, probability * one.probability, out);
  }
}

Distribution all_sentences(const char* text) {
  Distribution sentences;
  derive(parse_rules(text), Symbols(1, first_rule), "", 1, sentences);
  return sentences;
}

// The distribution of the first `length` characters of a stream of sentences.
void prefixes(const Distribution& sentences, size_t length, const std::string& done, double probability,
              Distribution& out) {
  if (done.size() >= length) {
    out[done.substr(0, length)] += probability;
    return;
  }
  for (const auto& [sentence, chance] : sentences)
    prefixes(sentences, length, done + sentence, probability * chance, out);
}

double entropy(const Distribution& distribution) {
  double sum = 0;
  for (const auto& [text, probability] : distribution) sum -= probability * std::log(probability);
  return sum;
}

std::vector<int32_t> window_of(const Grammar& grammar, const std::string& text) {
  std::vector<int32_t> tokens{grammar.token_of('\n')};
  for (char c : text) tokens.push_back(grammar.token_of(c));
  return tokens;
}

}  // namespace

TEST(Grammar, ProbabilitiesEqualThoseOfDerivations) {
  const Grammar grammar(toy_rules);
  const Distribution sentences = all_sentences(toy_rules);
  double total = 0;
  for (const auto& [sentence, probability] : sentences) {
    EXPECT_NEAR(std::exp(-grammar.negative_log_likelihood(window_of(grammar, sentence))), probability, 1e-14)
        << sentence;
    total += probability;
  }
  EXPECT_NEAR(total, 1, 1e-14);
  EXPECT_EQ(grammar.sentences(), std::to_string(sentences.size()));
  EXPECT_TRUE(std::isinf(grammar.negative_log_likelihood(window_of(grammar, "the cat ran."))));
  EXPECT_TRUE(std::isinf(grammar.negative_log_likelihood(window_of(grammar, "the cow rests?"))));
}

TEST(Grammar, FloorIsTheEntropyOfThePrefix) {
  const Grammar grammar(toy_rules);
  const Distribution sentences = all_sentences(toy_rules);
  for (size_t context : {1, 2, 5, 9, 14, 22, 31}) {
    Distribution starts;
    prefixes(sentences, context, "", 1, starts);
    EXPECT_NEAR(grammar.floor(static_cast<int>(context)), entropy(starts) / static_cast<double>(context),
                1e-12)
        << context;
  }
  double length = 0;
  for (const auto& [sentence, probability] : sentences)
    length += probability * static_cast<double>(sentence.size());
  EXPECT_NEAR(grammar.mean_sentence_length(), length, 1e-12);
  EXPECT_NEAR(grammar.entropy_rate(), entropy(sentences) / length, 1e-12);
  EXPECT_NEAR(grammar.floor(20000), grammar.entropy_rate(), 1e-3);
  EXPECT_THROW(grammar.floor(0), InputError);
}

TEST(Grammar, SampledWindowsMeetTheFloor) {
  const Grammar& english = Grammar::english();
  const GrammarCorpus corpus(7);
  for (int context : {32, 64, 200}) {
    std::vector<int32_t> window(context + 1);
    const int count = 10000;
    double sum = 0, squares = 0;
    for (int i = 0; i < count; ++i) {
      corpus.window(i % 2 ? Split::train : Split::validation, i, window);
      const double loss = english.negative_log_likelihood(window) / context;
      sum += loss;
      squares += loss * loss;
    }
    const double mean = sum / count;
    const double standard_error = std::sqrt((squares / count - mean * mean) / count);
    EXPECT_LT(standard_error, 0.002);
    EXPECT_LT(std::abs(mean - english.floor(context)), 4 * standard_error) << "context " << context;
  }
}

TEST(Grammar, TheEmbeddedOneIsAsDocumented) {
  const Grammar& english = Grammar::english();
  EXPECT_EQ(english.alphabet(), "\n !',-.;?abcdefghijklmnopqrstuvwxyz");
  EXPECT_EQ(english.sentences(), "937506531596169348");
  EXPECT_NEAR(english.floor(64), 0.464157, 1e-6);
  EXPECT_NEAR(english.entropy_rate(), 0.450643, 1e-6);
  const std::string text = GrammarCorpus(1).text(200000);
  EXPECT_EQ(text.size(), 200000u);
  const std::set<char> seen(text.begin(), text.end());
  EXPECT_EQ(std::string(seen.begin(), seen.end()), english.alphabet());
  EXPECT_TRUE(std::isfinite(english.negative_log_likelihood(window_of(english, text))));
}

TEST(Grammar, WindowsArePureFunctionsOfTheirPlace) {
  const GrammarCorpus corpus(3), same(3), other(4);
  std::vector<int32_t> a(65), b(65), longer(129);
  std::set<std::vector<int32_t>> distinct;
  for (uint64_t place : {0u, 1u, 2u, 1000u}) {
    corpus.window(Split::train, place, a);
    same.window(Split::train, place, b);
    EXPECT_EQ(a, b);
    same.window(Split::train, place, longer);
    EXPECT_TRUE(std::equal(a.begin(), a.end(), longer.begin()));
    distinct.insert(a);
    corpus.window(Split::validation, place, b);
    distinct.insert(b);
    other.window(Split::train, place, b);
    distinct.insert(b);
  }
  EXPECT_EQ(distinct.size(), 12u);
  EXPECT_THROW(corpus.window(Split::train, uint64_t{1} << 40, a), Error);
  EXPECT_NE(corpus.fingerprint(), other.fingerprint());
}

TEST(Grammar, WhatIsNotAGrammarIsRefused) {
  for (const char* text :
       {"", "# nothing", "s", ": a/", "  a/", "s: <t>/", "s: <t/", "s: a/\ns: b/", "s: 0 a/", "s: -1 a/",
        "s: a<s>/", "s: a<t>/\nt: b | <u>\nu: <t>", "s: a", "s: a/b/", "s: | a/", "s: a/ | ab", "s: a | a/"})
    EXPECT_THROW(Grammar{text}, InputError) << text;
}

}  // namespace plimsoll
