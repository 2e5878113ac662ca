// A corpus of samples with provenance: a memory-mapped JSONL file of any size. Opening it reads everything once,
// to validate it, collect its characters and count; one sample in ten, chosen at random, is used for validation.
//
// As tokens a split is a newline, then each sample's text followed by a newline, in the order of the file.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "data/corpus.hpp"
#include "data/sample_line.hpp"
#include "platform/mapped_file.hpp"

namespace plimsoll {

struct SampleOptions {
  bool skip_bad = false;  // malformed lines are counted and left out instead of refused
  bool all_for_validation = false;
};

class SampleCorpus final : public Corpus {
 public:
  // InputError: missing, unreadable, empty, or a malformed line, by its number.
  SampleCorpus(const std::string& path, Tokenizer::Kind kind, SampleOptions options = {},
               const ReadingProgress& reading = {});
  // With the tokenizer of a trained model; InputError also for a character it does not know.
  SampleCorpus(const std::string& path, Tokenizer tokenizer, SampleOptions options = {},
               const ReadingProgress& reading = {});

  std::string description() const override;
  std::string fingerprint() const override { return fingerprint_; }
  const Tokenizer& tokenizer() const override { return tokenizer_; }
  std::optional<uint64_t> tokens(Split split) const override { return part(split).tokens; }
  void window(Split split, uint64_t place, std::span<int32_t> out) const override {
    read(split, place, out, {});
  }
  void drop_cached_pages() const override { file_.drop(0, file_.bytes().size()); }
  const SampleCorpus* samples() const override { return this; }
  std::vector<std::string> notes() const override;

  // For each token of a window the distrust loss of the sample it belongs to; 0 for the first newline.
  void distrust(Split split, uint64_t place, std::span<float> out) const { read(split, place, {}, out); }
  // Over all tokens of both parts.
  double mean_distrust() const { return mean_distrust_; }

  struct Counts {
    uint64_t samples = 0, without_authority = 0, without_entropy = 0, bad = 0;
  };
  const Counts& counts() const { return counts_; }

  // A place between lines; the first is that of the whole file.
  struct Place {
    uint64_t offset = 0, line = 0, sample = 0;  // sample: of all lines but blank ones
  };
  // Goes to the next sample of a part, malformed ones included, and gives the offset of its line; false at the end.
  bool next(Split split, Place& place, uint64_t& offset) const;
  SampleLine parse(uint64_t offset) const { return parse_line(line_at(offset)); }
  // The same, of a large file by reading the line into `room`: a page that is mapped for a few hundred bytes and given back
  // again costs more. What does not fit is mapped all the same.
  SampleLine parse(uint64_t offset, std::span<char> room) const;
  // No longer needed in memory for now.
  void release(const SampleLine& sample) const;

 private:
  struct Mark {
    uint64_t token;
    Place place;
  };
  // One of the two parts, and where in the file some of its tokens are.
  struct Part {
    uint64_t tokens = 0, samples = 0;
    uint64_t stride = 1;  // samples between two marks; doubled when there are too many
    std::vector<Mark> marks = {};
    void add(const Place& place, uint64_t count);
  };
  struct Survey;

  void open(Survey& survey, const ReadingProgress& reading);
  uint64_t survey_text(const SampleLine& sample, const Place& place, Survey& survey) const;
  Split split_of(uint64_t sample) const;
  std::string_view line_at(uint64_t offset) const;
  static SampleLine parse_line(std::string_view line);
  // Goes past the line at `place`; its text, or nothing for a blank one.
  std::string_view take_line(Place& place) const;
  void read(Split split, uint64_t place, std::span<int32_t> tokens, std::span<float> distrust) const;
  const Part& part(Split split) const { return parts_[static_cast<size_t>(split)]; }

  std::string path_;
  SampleOptions options_;
  Tokenizer tokenizer_;
  MappedFile file_;
  std::array<Part, 2> parts_;
  Counts counts_;
  std::string first_bad_;
  double mean_distrust_ = 0;
  bool keep_resident_ = false;
  std::string fingerprint_;
};

// The tokens of one sample: those of its text, then a newline. Can stop anywhere and go on.
class SampleTokens {
 public:
  SampleTokens() = default;
  SampleTokens(const Tokenizer& tokenizer, std::string_view raw_text);
  // Fills as much of `out` as there are tokens left; returns how many.
  size_t read(std::span<int32_t> out);
  size_t skip(uint64_t count);
  bool done() const { return done_; }

 private:
  bool next(int32_t& token);

  const Tokenizer* tokenizer_ = nullptr;
  JsonText text_;
  std::array<unsigned char, 4> bytes_{};  // of a character, where a token is a byte
  int bytes_left_ = 0, byte_count_ = 0;
  bool done_ = true;
};

}  // namespace plimsoll
