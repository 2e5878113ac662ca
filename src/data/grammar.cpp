#include "data/grammar.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <unordered_map>

#include "base/error.hpp"
#include "data/grammar_rules.hpp"

namespace plimsoll {
namespace {

// What may still follow in this sentence, with its probability given the characters so far: the state of the
// automaton is this distribution. Sorted, no two alike, sums to 1.
using Belief = std::vector<std::pair<Symbols, double>>;

void merge(Belief& belief) {
  std::sort(belief.begin(), belief.end());
  size_t kept = 0;
  for (size_t i = 1; i < belief.size(); ++i) {
    if (belief[i].first == belief[kept].first)
      belief[kept].second += belief[i].second;
    else if (++kept != i)
      belief[kept] = std::move(belief[i]);
  }
  if (!belief.empty()) belief.resize(kept + 1);
}

// Replaces leading rules by their alternatives until every entry leads with a character (or is empty).
void expand(const Rules& rules, const Symbols& symbols, double probability, Belief& out) {
  if (symbols.empty() || symbols.front() < first_rule) {
    out.emplace_back(symbols, probability);
    return;
  }
  for (const Alternative& one : rules[symbols.front() - first_rule])
    expand(rules, one.symbols + symbols.substr(1), probability * one.probability, out);
}

// Probabilities are rounded so that equal beliefs reached by different sums meet; where they fail to, there
// is one state more and nothing else.
std::u16string key_of(const Belief& belief) {
  std::u16string key;
  for (const auto& [symbols, probability] : belief) {
    auto rounded = static_cast<uint64_t>(std::llround(probability * 0x1p40));
    char16_t digits[4];
    std::memcpy(digits, &rounded, sizeof rounded);
    key.append(symbols).append(1, u'\0').append(digits, 4);
  }
  return key;
}

// A natural number that can be added and printed: digits in base 10^9, lowest first.
using Natural = std::vector<uint32_t>;

void add(Natural& sum, const Natural& other) {
  constexpr uint32_t base = 1'000'000'000;
  if (sum.size() < other.size()) sum.resize(other.size());
  uint32_t carry = 0;
  for (size_t i = 0; i < sum.size(); ++i) {
    sum[i] += carry + (i < other.size() ? other[i] : 0);
    carry = sum[i] >= base;
    if (carry) sum[i] -= base;
  }
  if (carry) sum.push_back(1);
}

}  // namespace

Grammar::Grammar(std::string_view text) {
  const Rules rules = parse_rules(text);
  std::unordered_map<std::u16string, int32_t> numbers;
  std::vector<Belief> beliefs;  // of the states found; emptied once their edges are known
  auto state_of = [&](Belief&& belief) {
    auto [place, is_new] = numbers.try_emplace(key_of(belief), static_cast<int32_t>(beliefs.size()));
    if (is_new) beliefs.push_back(std::move(belief));
    return place->second;
  };
  state_of({{Symbols(1, first_rule), 1.0}});

  for (size_t state = 0; state < beliefs.size(); ++state) {
    Belief now;
    for (const auto& [symbols, probability] : beliefs[state]) expand(rules, symbols, probability, now);
    beliefs[state] = {};
    merge(now);
    first_edge_.push_back(static_cast<uint32_t>(edges_.size()));
    double upto = 0;
    for (auto from = now.begin(); from != now.end();) {
      if (from->first.empty()) fail_input("[grammar] a sentence must end in a newline, its only one");
      const char16_t character = from->first.front();
      auto to = from;
      double probability = 0;
      for (; to != now.end() && to->first.front() == character; ++to) probability += to->second;
      Belief next;
      for (; from != to; ++from) next.emplace_back(from->first.substr(1), from->second / probability);
      merge(next);
      // A newline must leave nothing, and nothing else may: then a sentence's end is seen in the text itself.
      for (const auto& [rest, chance] : next)
        if (rest.empty() != (character == u'\n'))
          fail_input("[grammar] a sentence must end in a newline, its only one");
      upto += probability;
      edges_.push_back({probability, upto, character, character == u'\n' ? 0 : state_of(std::move(next))});
    }
    edges_.back().upto = 2;  // whatever rounding left over belongs to the last edge
  }
  first_edge_.push_back(static_cast<uint32_t>(edges_.size()));

  bool produced[first_rule] = {};
  for (const Edge& edge : edges_) produced[edge.token] = true;
  for (int c = 0; c < first_rule; ++c)
    if (produced[c]) alphabet_ += static_cast<char>(c);
  for (Edge& edge : edges_) edge.token = token_of(static_cast<char>(edge.token));
  for (size_t state = 0; state < states(); ++state) {
    double entropy = 0;
    for (const Edge& edge : edges(state)) entropy -= edge.probability * std::log(edge.probability);
    entropy_.push_back(entropy);
  }
}

const Grammar& Grammar::english() {
  static const Grammar grammar(english_rules());
  return grammar;
}

int32_t Grammar::token_of(char character) const {
  size_t place = alphabet_.find(character);
  return place == alphabet_.npos ? -1 : static_cast<int32_t>(place);
}

std::string Grammar::sentences() const {
  // Paths from each state to the sentence's end. The automaton is deterministic: different paths, different
  // strings; without the edges back to state 0 it has no cycle, so a depth-first walk with an explicit stack
  // finds an order.
  std::vector<Natural> paths(states());
  std::vector<size_t> open{0};
  while (!open.empty()) {
    const size_t state = open.back();
    bool ready = true;
    if (paths[state].empty())
      for (const Edge& edge : edges(state))
        if (edge.target != 0 && paths[edge.target].empty()) {
          open.push_back(edge.target);
          ready = false;
        }
    if (!ready) continue;
    open.pop_back();
    if (!paths[state].empty()) continue;
    for (const Edge& edge : edges(state))
      add(paths[state], edge.target == 0 ? Natural{1} : paths[edge.target]);
  }
  std::string digits = fmt::format("{}", paths[0].back());
  for (size_t i = paths[0].size() - 1; i-- > 0;) digits += fmt::format("{:09}", paths[0][i]);
  return digits;
}

// One character on: `next` is the distribution over states after it.
void Grammar::step(const std::vector<double>& mass, std::vector<double>& next) const {
  std::fill(next.begin(), next.end(), 0.0);
  for (size_t state = 0; state < states(); ++state)
    if (mass[state] > 0)
      for (const Edge& edge : edges(state)) next[edge.target] += mass[state] * edge.probability;
}

double Grammar::floor(int context) const {
  if (context < 1) fail_input("[grammar] context {}; expected at least 1", context);
  std::vector<double> mass(states()), next(states());
  mass[0] = 1;
  double total = 0;
  for (int t = 0; t < context; ++t) {
    for (size_t state = 0; state < states(); ++state) total += mass[state] * entropy_[state];
    step(mass, next);
    mass.swap(next);
  }
  return total / context;
}

Grammar::SentenceMeans Grammar::sentence_means() const {
  std::vector<double> mass(states()), next(states());
  mass[0] = 1;
  SentenceMeans means{0, 0};
  for (double left = 1; left > 0;) {
    means.length += left;
    for (size_t state = 0; state < states(); ++state) means.entropy += mass[state] * entropy_[state];
    step(mass, next);
    next[0] = 0;  // the sentence is over
    mass.swap(next);
    left = 0;
    for (double m : mass) left += m;
  }
  return means;
}

double Grammar::mean_sentence_length() const { return sentence_means().length; }

double Grammar::entropy_rate() const {
  SentenceMeans means = sentence_means();
  return means.entropy / means.length;
}

double Grammar::negative_log_likelihood(std::span<const int32_t> window) const {
  constexpr double impossible = std::numeric_limits<double>::infinity();
  if (window.empty() || window[0] != token_of('\n')) return impossible;
  double total = 0;
  size_t state = 0;
  for (int32_t token : window.subspan(1)) {
    auto all = edges(state);
    auto taken = std::find_if(all.begin(), all.end(), [&](const Edge& edge) { return edge.token == token; });
    if (taken == all.end()) return impossible;
    total -= std::log(taken->probability);
    state = taken->target;
  }
  return total;
}

void Grammar::fill(const CounterRng& random, uint64_t first_counter, std::span<int32_t> window) const {
  if (window.empty()) return;
  window[0] = token_of('\n');
  size_t state = 0;
  for (size_t i = 1; i < window.size(); ++i) {
    const Edge* edge = &edges_[first_edge_[state]];
    if (first_edge_[state + 1] - first_edge_[state] > 1) {
      const double draw = random.uniform(first_counter + i);
      while (draw >= edge->upto) ++edge;
    }
    window[i] = edge->token;
    state = edge->target;
  }
}

}  // namespace plimsoll
