// The interface of everything a model can be trained on: a source of tokens with two disjoint parts. A window
// is a pure function of its position, so the whole reading state is the number of the next window.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "data/grammar.hpp"
#include "data/tokenizer.hpp"

namespace plimsoll {

class PackedCorpus;
class SampleCorpus;

constexpr size_t pass_stride = 1 << 20;         // bytes of a file read before their pages are given back
constexpr uint64_t resident_limit = 4'000'000;  // bytes of a file that simply stay in memory

// Hears, every MB or so, how many bytes of how many have been read while data is opened. May throw to give up.
using ReadingProgress = std::function<void(uint64_t done, uint64_t total)>;

enum class Split : uint64_t { train = 0, validation = 1 };

class Corpus {
 public:
  virtual ~Corpus() = default;
  // One line for people.
  virtual std::string description() const = 0;
  // Changes whenever the tokens would: what a resumed run compares.
  virtual std::string fingerprint() const = 0;
  virtual const Tokenizer& tokenizer() const = 0;
  int vocabulary() const { return tokenizer().vocabulary(); }
  // How many tokens a split has; none if it is endless.
  virtual std::optional<uint64_t> tokens(Split split) const = 0;
  // Fills `out` with consecutive tokens, allocating nothing; any number of threads may. Where the part has an
  // end, they are those from `place` on, and place + out.size() must not pass it; where it is endless,
  // `place` numbers independent windows.
  virtual void window(Split split, uint64_t place, std::span<int32_t> out) const = 0;
  // The lowest expected loss in nats per token on windows of context + 1 tokens, where it is known.
  virtual std::optional<double> floor(int) const { return std::nullopt; }
  // Takes the corpus out of the process's resident memory, as far as it can come back by itself.
  virtual void drop_cached_pages() const {}
  // What people should know before it is used, a line each.
  virtual std::vector<std::string> notes() const { return {}; }
  // The corpus itself, where it is made of samples that say where they come from.
  virtual const SampleCorpus* samples() const { return nullptr; }
  // The corpus itself, where its windows hold samples with labels.
  virtual const PackedCorpus* packed() const { return nullptr; }
};

// The embedded grammar: endless in both parts, generated as it is read. Every window starts with the newline
// before a sentence. At most 2^40 windows per split, of at most 2^23 tokens.
class GrammarCorpus final : public Corpus {
 public:
  // `grammar` must outlive the corpus.
  explicit GrammarCorpus(uint64_t seed, const Grammar& grammar = Grammar::english());
  std::string description() const override;
  std::string fingerprint() const override;
  const Tokenizer& tokenizer() const override { return tokenizer_; }
  std::optional<uint64_t> tokens(Split) const override { return std::nullopt; }
  void window(Split split, uint64_t place, std::span<int32_t> out) const override;
  std::optional<double> floor(int context) const override { return grammar_.floor(context); }

  // The first `characters` characters of one long training text, for people to read or other programs to
  // learn from.
  std::string text(uint64_t characters) const;

 private:
  uint64_t seed_;
  const Grammar& grammar_;
  CounterRng random_;
  Tokenizer tokenizer_;
};

}  // namespace plimsoll
