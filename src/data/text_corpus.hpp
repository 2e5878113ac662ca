// A corpus of files: UTF-8 text or bytes of any size, memory-mapped. Opening reads everything once, to check
// it and to learn its characters; after that a window costs a few system calls or touches of pages, wherever it lies.
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
  //
  // As characters, CRLF at the end of a line is read as LF, and a byte-order mark at the beginning of a file is left out.
  TextCorpus(const std::string& path, Tokenizer::Kind kind, double train_share = 0.9,
             const ReadingProgress& reading = {});
  // With the tokenizer of a trained model; InputError also for a character it does not know. A model that was trained
  // on carriage returns or byte-order marks goes on seeing them.
  TextCorpus(const std::string& path, Tokenizer tokenizer, double train_share = 0.9,
             const ReadingProgress& reading = {});

  std::string description() const override;
  std::string fingerprint() const override { return fingerprint_; }
  const Tokenizer& tokenizer() const override { return tokenizer_; }
  std::optional<uint64_t> tokens(Split split) const override {
    return split == Split::train ? train_tokens_ : tokens_ - train_tokens_;
  }
  void window(Split split, uint64_t place, std::span<int32_t> out) const override;
  void drop_cached_pages() const override;
  std::vector<std::string> notes() const override;

 private:
  // One file's place in the corpus.
  struct Piece {
    MappedFile file;
    uint64_t first_token;
    uint64_t tokens = 0;
    // Byte offset of every 4096th character; empty if each token is one byte.
    std::vector<uint64_t> offsets = {};
    uint64_t returns_left_out = 0;
    bool mark_left_out = false;
  };
  // Which characters occur, and the files' hash: gathered on the one pass.
  struct Survey;

  void open(Survey& survey, const ReadingProgress& reading);
  void read_through(const std::string& name, Piece& piece, Survey& survey) const;
  size_t left_out(std::span<const unsigned char> bytes, size_t at) const;
  void finish(const Survey& survey, double train_share);
  size_t passed_over(std::span<const unsigned char> bytes, bool last, uint64_t& skip) const;
  // Reads from `token` of the piece on, as much of `out` as it has; returns how many.
  size_t read(const Piece& piece, uint64_t token, std::span<int32_t> out) const;

  std::string path_;
  Tokenizer tokenizer_;
  std::vector<Piece> pieces_;
  uint64_t bytes_ = 0, tokens_ = 0, train_tokens_ = 0;
  bool keep_resident_ = false;
  bool carriage_returns_ = true, marks_ = true;  // are tokens
  uint64_t returns_left_out_ = 0, marks_left_out_ = 0;
  std::string fingerprint_;
};

}  // namespace plimsoll
