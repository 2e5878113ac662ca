// A probabilistic grammar compiled to a deterministic automaton over characters. The automaton knows the
// exact probability of every next character, so the lowest loss that any model can reach on its text is known
// exactly.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.hpp"

namespace plimsoll {

// Rules are text, one a line (a line that starts with white space goes on with the one before; `#` is a
// comment):
//   name: 3 the_<noun>_ran | 1 <noun>s_run
// Alternatives are separated by `|`, each with an optional integer weight (default 1); `<name>` refers to a
// rule, `_` is a space, `/` a newline, other white space means nothing. The first rule is the sentence; it
// must end in a newline, its only one. Rules must not be recursive, so there are finitely many sentences; a
// string may have several derivations, their probabilities add up. A stream of text is one independent
// sentence after the other.
class Grammar {
 public:
  explicit Grammar(std::string_view rules);
  // The embedded default corpus, compiled on first use.
  static const Grammar& english();

  // The characters the grammar produces, sorted; a token is an index into it.
  const std::string& alphabet() const { return alphabet_; }
  int32_t token_of(char character) const;
  size_t states() const { return first_edge_.size() - 1; }
  // The exact number of distinct sentences, in decimal.
  std::string sentences() const;
  // Expected characters in a sentence, with its newline.
  double mean_sentence_length() const;

  // The expected loss, in nats per character, of the perfect model on a window of `context` inputs and
  // targets: the window starts with the newline before a sentence (token 0, given), and tokens 1..context are
  // predicted, each from all those before it. Nothing that came before the newline bears on what follows, so
  // no hidden context is missed.
  double floor(int context) const;
  // The limit of floor(context) for long contexts: entropy of a sentence over its mean length.
  double entropy_rate() const;
  // Sum of -log p over window[1..], each given those before it; infinite if the grammar cannot produce the
  // window, whose first token must be the newline.
  double negative_log_likelihood(std::span<const int32_t> window) const;

  // Fills a window: a newline, then text from a sentence's start on. Draws counters first_counter + position,
  // at most one a token; allocates nothing.
  void fill(const CounterRng& random, uint64_t first_counter, std::span<int32_t> window) const;

 private:
  struct Edge {
    double probability;
    double upto;  // probabilities of this and the earlier edges of its state
    int32_t token;
    int32_t target;
  };
  std::span<const Edge> edges(size_t state) const {
    return {edges_.data() + first_edge_[state], edges_.data() + first_edge_[state + 1]};
  }
  struct SentenceMeans {
    double entropy, length;
  };
  SentenceMeans sentence_means() const;
  void step(const std::vector<double>& mass, std::vector<double>& next) const;

  std::string alphabet_;
  std::vector<uint32_t> first_edge_;  // state -> its edges; state 0 is the start of a sentence
  std::vector<Edge> edges_;
  std::vector<double> entropy_;  // of the next character, by state
};

// The rules of Grammar::english(), for whoever wants to read or print them.
std::string_view english_rules();

}  // namespace plimsoll
