// Text files read with the tokenizer of a published model: everything is tokenized when it is opened, and four bytes a
// token are kept, in a temporary file where they are many.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "data/corpus.hpp"
#include "data/spilled.hpp"
#include "data/token_hash.hpp"

namespace plimsoll {

class TokenCorpus final : public Corpus {
 public:
  // A file, or a folder: all its regular files in order of their names, each followed by the token that ends a text. The
  // first `train_share` of the tokens is for training. InputError as TextCorpus; text must be UTF-8.
  TokenCorpus(const std::string& path, Tokenizer tokenizer, double train_share = 0.9,
              const ReadingProgress& reading = {});

  std::string description() const override;
  std::string fingerprint() const override { return fingerprint_; }
  const Tokenizer& tokenizer() const override { return tokenizer_; }
  std::optional<uint64_t> tokens(Split split) const override {
    return split == Split::train ? train_tokens_ : tokens_.size() - train_tokens_;
  }
  void window(Split split, uint64_t place, std::span<int32_t> out) const override;
  // Nothing is changed: the model's tokenizer has tokens for everything.
  std::vector<std::string> notes() const override;

 private:
  void read(const std::string& path, TokenHash& hash, const std::function<void(uint64_t)>& pass);

  std::string path_;
  Tokenizer tokenizer_;
  Spilled<int32_t> tokens_;
  uint64_t train_tokens_ = 0, bytes_ = 0;
  uint64_t returns_ = 0, marks_ = 0;  // CRLFs; files that begin with a byte-order mark
  std::string fingerprint_;
};

// Where text may be cut so that its parts have the tokens of the whole: the first such place at or after `from`, at a
// line that begins with a letter after one that does not end in white space. The end of the text if there is none.
size_t next_cut(std::string_view text, size_t from);

}  // namespace plimsoll
