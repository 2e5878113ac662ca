// A JSONL file for fine-tuning as tokens with labels, read once when it is opened, in bounded memory but for eight bytes a
// row while it is read: four bytes a token and eight a sample are kept in temporary files.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/corpus.hpp"
#include "data/labels.hpp"
#include "data/pictures.hpp"
#include "data/selective.hpp"
#include "data/spilled.hpp"
#include "data/token_hash.hpp"

namespace plimsoll {

struct DatasetOptions {
  int context = 512;      // longer samples are cut after so many inputs
  bool skip_bad = false;  // malformed lines are counted and left out instead of refused
  SelectiveLoss selective = {};
  std::optional<PictureOptions> pictures = {};  // nothing: rows with pictures are malformed
};

// What was found.
struct DatasetFigures {
  std::optional<Schema> schema;  // of the first row
  uint64_t rows = 0, bad = 0;    // bad: malformed, or of another schema than the first row
  uint64_t empty = 0;            // nothing to learn from: no text
  uint64_t masked = 0;           // none of the tokens is learned, cut ones left aside
  uint64_t shortened = 0;        // the chat template leaves out a part of an answer
  uint64_t duplicates = 0;       // rows with the tokens and pictures of an earlier one
  uint64_t cut = 0, cut_tokens = 0;
  uint64_t tokens = 0, longest = 0, longest_line = 0;  // before anything is cut
  uint64_t targets = 0;                                // learned tokens of the samples that are used
  uint64_t structural = 0;                             // of those, left out by selective loss
  bool endless = false;                                // the model has no token that ends a text
  std::string first_bad;                               // "line 3: it is not a JSON object"
};

class Dataset {
 public:
  // A token with its labels in one word.
  struct Token {
    int32_t word;
    int32_t id() const { return word & 0x3FFFFFFF; }
    bool learned() const { return word < 0; }
    bool structural() const { return word >> 30 & 1; }
  };

  // InputError: missing, unreadable, no row that can be used, or a malformed line, by its number. `text` is needed only
  // while this is made.
  Dataset(const std::string& path, const ModelText& text, const DatasetOptions& options,
          const ReadingProgress& reading = {});

  const DatasetFigures& figures() const { return figures_; }
  const std::string& fingerprint() const { return fingerprint_; }
  // Samples that have something to learn, in the order of the file.
  size_t samples() const { return begin_.size() - 1; }
  size_t length(size_t i) const { return place(i).length; }
  // Fills `words` with those of the tokens of a sample from `first` on, and returns how many they are. Allocates nothing;
  // any number of threads may.
  size_t read(size_t i, size_t first, std::span<int32_t> words) const;
  // Those of all samples; null where there can be none.
  const Pictures* pictures() const { return pictures_.get(); }
  // Fills `numbers` with those of the pictures of a sample, as far as there is room, and returns how many it has.
  size_t pictures(size_t i, std::span<uint32_t> numbers) const;
  // How many tiles those have.
  uint64_t tiles(size_t i) const;

 private:
  struct Reader;
  struct Place {
    uint64_t begin;
    size_t length;
  };
  Place place(size_t i) const;
  bool add(const LabelledTokens& labelled, uint64_t line, const tokens::Tokenizer& tokenizer,
           const DatasetOptions& options, TokenHash& hash);

  Spilled<int32_t> tokens_;  // words
  Spilled<uint64_t> begin_;  // of the samples, and the end of the last
  std::unique_ptr<Pictures> pictures_;
  Spilled<uint32_t> shown_;        // numbers of the samples' pictures
  Spilled<uint64_t> shown_begin_;  // of the samples, and the end of the last; empty where there can be none
  DatasetFigures figures_;
  std::string fingerprint_;
};

}  // namespace plimsoll
