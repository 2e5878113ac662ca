#include "data/corpus.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace plimsoll {
namespace {

constexpr int window_bits = 23, place_bits = 40;

// Counters are split bit, window, position: no two draws of a corpus share one.
uint64_t first_counter(Split split, uint64_t place) {
  return static_cast<uint64_t>(split) << (window_bits + place_bits) | place << window_bits;
}

Tokenizer tokenizer_of(const Grammar& grammar) {
  return Tokenizer::characters({grammar.alphabet().begin(), grammar.alphabet().end()});
}

}  // namespace

GrammarCorpus::GrammarCorpus(uint64_t seed, const Grammar& grammar)
    : seed_(seed), grammar_(grammar), random_(seed, Stream::grammar), tokenizer_(tokenizer_of(grammar)) {}

std::string GrammarCorpus::description() const {
  return fmt::format("embedded grammar, {:.2e} sentences, {} characters", std::stod(grammar_.sentences()),
                     vocabulary());
}

std::string GrammarCorpus::fingerprint() const {
  // The rate is a function of every probability of the grammar.
  return fmt::format("grammar:{}:{}:{:a}", seed_, grammar_.sentences(), grammar_.entropy_rate());
}

void GrammarCorpus::window(Split split, uint64_t place, std::span<int32_t> out) const {
  if (place >> place_bits != 0 || out.size() >> window_bits != 0)
    fail("[data] window {} of {} tokens is beyond the embedded corpus", place, out.size());
  grammar_.fill(random_, first_counter(split, place), out);
}

std::string GrammarCorpus::text(uint64_t characters) const {
  // Stitched from windows cut after their last whole sentence, so that it reads as one.
  std::string text;
  std::vector<int32_t> tokens(4096);
  for (uint64_t place = 0; text.size() < characters; ++place) {
    window(Split::train, place, tokens);
    std::string piece = tokenizer_.decode(std::span(tokens).subspan(1));
    text += piece.substr(0, piece.rfind('\n') + 1);
  }
  text.resize(characters);
  return text;
}

}  // namespace plimsoll
