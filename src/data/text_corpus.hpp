// A corpus of files: UTF-8 text or bytes of any size, memory-mapped. Opening reads everything once, to check
// it and to learn its characters; after that a window costs a few page touches, wherever it lies.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "data/corpus.hpp"
#include "platform/mapped_file.hpp"

namespace plimsoll {

class TextCorpus final : public Corpus {
 public:
  // A file, or a directory: all its regular files (not those of its subdirectories), in order of their names,
  // one after the other. The first `train_share` of the tokens is for training, the rest for validation.
  // InputError: missing, unreadable, empty, no files, or not UTF-8 where characters are asked for.
  TextCorpus(const std::string& path, Tokenizer::Kind kind, double train_share = 0.9);
  // With the tokenizer of a trained model; InputError also for a character it does not know.
  TextCorpus(const std::string& path, Tokenizer tokenizer, double train_share = 0.9);

  std::string description() const override;
  std::string fingerprint() const override { return fingerprint_; }
  const Tokenizer& tokenizer() const override { return tokenizer_; }
  std::optional<uint64_t> tokens(Split split) const override {
    return split == Split::train ? train_tokens_ : tokens_ - train_tokens_;
  }
  void window(Split split, uint64_t place, std::span<int32_t> out) const override;
  void drop_cached_pages() const override;

 private:
  // One file's place in the corpus.
  struct Piece {
    MappedFile file;
    uint64_t first_token;
    uint64_t tokens = 0;
    // Byte offset of every 4096th character; empty if each token is one byte.
    std::vector<uint64_t> offsets = {};
  };
  // Which characters occur, and the files' hash: gathered on the one pass.
  struct Survey;

  void open(Survey& survey);
  void read_through(const std::string& name, Piece& piece, Survey& survey) const;
  void finish(const Survey& survey, double train_share);
  // Reads from `token` of the piece on, as much of `out` as it has; returns how many.
  size_t read(const Piece& piece, uint64_t token, std::span<int32_t> out) const;

  std::string path_;
  Tokenizer tokenizer_;
  std::vector<Piece> pieces_;
  uint64_t bytes_ = 0, tokens_ = 0, train_tokens_ = 0;
  bool keep_resident_ = false;
  std::string fingerprint_;
};

}  // namespace plimsoll
