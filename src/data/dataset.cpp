#include "data/dataset.hpp"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "data/text_files.hpp"
#include "platform/mapped_file.hpp"

namespace plimsoll {
namespace {

// The bytes that tokens in a row write; special tokens write none.
std::vector<bool> structure_of(const LabelledTokens& labelled, const tokens::Tokenizer& tokenizer,
                               const SelectiveLoss& selective) {
  std::vector<bool> structure(labelled.tokens.size());
  if (selective.structure == Structure::none) return structure;
  for (size_t begin = 0; begin < labelled.tokens.size(); ++begin) {
    // A run of learned tokens between special ones is one answer.
    std::vector<std::string_view> texts;
    while (begin + texts.size() < labelled.tokens.size() && labelled.learned[begin + texts.size()] &&
           !tokenizer.is_special(labelled.tokens[begin + texts.size()]))
      texts.push_back(tokenizer.bytes(labelled.tokens[begin + texts.size()]));
    const std::vector<bool> found = find_structure(texts, selective);
    std::copy(found.begin(), found.end(), structure.begin() + ptrdiff_t(begin));
    begin += texts.size();
  }
  return structure;
}

}  // namespace

// Reads the file line by line.
struct Dataset::Reader {
  Dataset& set;
  const ModelText& text;
  const DatasetOptions& options;
  std::optional<Labeller> labeller = {};
  std::vector<uint64_t> hashes = {};  // of the rows' tokens and pictures
  TokenHash hash = {};                // of the tokens of all samples

  void read_line(std::string_view line, uint64_t number) {
    try {
      Row row = parse_row(line);
      DatasetFigures& figures = set.figures_;
      if (!figures.schema) {
        figures.schema = row.schema;
        labeller.emplace(text, row.schema == Schema::messages || row.schema == Schema::instruction);
      } else {
        refuse_mixed(row.schema, *figures.schema);
      }
      if (!row.pictures.empty() && !set.pictures_)
        fail_input("it has a picture, and the model looks at none");
      std::vector<uint32_t> shown;
      if (set.pictures_) shown = set.pictures_->add(row);
      const LabelledTokens labelled = labeller->label(row);
      check_pictures(row, labelled);
      const uint64_t seen = XXH3_64bits(shown.data(), shown.size() * sizeof(uint32_t));
      hashes.push_back(
          XXH3_64bits_withSeed(labelled.tokens.data(), labelled.tokens.size() * sizeof(int32_t), seen));
      if (set.add(labelled, number, text.tokenizer, options, hash) && set.pictures_) {
        set.shown_.append(shown);
        set.shown_begin_.push_back(set.shown_.size());
      }
    } catch (const InputError& error) {
      if (!labeller && set.figures_.schema) throw;  // the template, not the row
      if (!options.skip_bad) fail_input("line {}: {}; mend it, or give --skip-bad", number, error.what());
      if (!set.figures_.bad++) set.figures_.first_bad = fmt::format("line {}: {}", number, error.what());
    }
  }

  void check_pictures(const Row& row, const LabelledTokens& labelled) const {
    if (!set.pictures_) return;
    set.pictures_->check(row, labelled);
    if (!row.pictures.empty() && labelled.tokens.size() > size_t(options.context) + 1)
      fail_input("with its pictures it has {} tokens, more than the context of {}; give --context {}",
                 labelled.tokens.size(), options.context, labelled.tokens.size() - 1);
  }

  void finish() {
    std::sort(hashes.begin(), hashes.end());
    const auto different = std::unique(hashes.begin(), hashes.end());
    set.figures_.duplicates = uint64_t(hashes.end() - different);
    set.tokens_.finish();
    set.begin_.finish();
    set.fingerprint_ = fmt::format("rows xxh3-64 {:016x}", hash.value());
    if (!set.pictures_) return;
    set.pictures_->finish();
    set.shown_.finish();
    set.shown_begin_.finish();
    if (set.pictures_->size()) set.fingerprint_ += fmt::format(", pictures {:016x}", set.pictures_->hash());
  }
};

Dataset::Dataset(const std::string& path, const ModelText& text, const DatasetOptions& options,
                 const ReadingProgress& reading) {
  if (options.context < 1) fail_input("context {}; expected at least 1", options.context);
  begin_.push_back(0);
  figures_.endless = !text.end;
  if (options.pictures) {
    pictures_ = std::make_unique<Pictures>(*options.pictures);
    shown_begin_.push_back(0);
  }
  const MappedFile file(path);
  refuse_other_kinds(path, file.bytes());
  const std::string_view whole(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  std::string_view rest = whole;
  Reader reader{*this, text, options};
  size_t dropped = 0;
  for (uint64_t number = 1; !rest.empty(); ++number) {
    const std::string_view line = text::next_line(rest);
    const size_t done = whole.size() - rest.size();
    if (done - dropped >= pass_stride) {
      file.drop(dropped, done - dropped);
      dropped = done;
      if (reading) reading(done, whole.size());
    }
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    ++figures_.rows;
    try {
      reader.read_line(line, number);
    } catch (const InputError& error) {
      fail_input("{}: {}", path, error.what());
    }
  }
  reader.finish();
}

bool Dataset::add(const LabelledTokens& labelled, uint64_t line, const tokens::Tokenizer& tokenizer,
                  const DatasetOptions& options, TokenHash& hash) {
  const size_t count = labelled.tokens.size(), kept = std::min(count, size_t(options.context) + 1);
  figures_.tokens += count;
  figures_.shortened += labelled.shortened;
  if (count > figures_.longest) figures_.longest = count, figures_.longest_line = line;
  if (count < 2) {
    ++figures_.empty;
    return false;
  }
  if (kept < count) ++figures_.cut, figures_.cut_tokens += count - kept;
  const std::vector<bool> structure = structure_of(labelled, tokenizer, options.selective);
  uint64_t targets = 0, structural = 0;
  for (size_t i = 1; i < kept; ++i) {  // the first token is never a target
    targets += labelled.learned[i];
    structural += labelled.learned[i] && structure[i];
  }
  if (targets == 0) {
    ++figures_.masked;
    return false;
  }
  figures_.targets += targets;
  figures_.structural += structural;
  std::vector<int32_t> sample(kept);
  for (size_t i = 0; i < kept; ++i)
    sample[i] = int32_t(uint32_t(labelled.tokens[i]) | uint32_t(labelled.learned[i]) << 31 |
                        uint32_t(labelled.learned[i] && structure[i]) << 30);
  hash.update(std::as_bytes(std::span(sample)));
  tokens_.append(sample);
  begin_.push_back(tokens_.size());
  return true;
}

Dataset::Place Dataset::place(size_t i) const {
  uint64_t ends[2];
  begin_.read(i, ends);
  return {ends[0], size_t(ends[1] - ends[0])};
}

size_t Dataset::pictures(size_t i, std::span<uint32_t> numbers) const {
  if (!pictures_) return 0;
  uint64_t ends[2];
  shown_begin_.read(i, ends);
  const auto count = size_t(ends[1] - ends[0]);
  shown_.read(ends[0], numbers.first(std::min(numbers.size(), count)));
  return count;
}

uint64_t Dataset::tiles(size_t i) const {
  if (!pictures_) return 0;
  uint64_t ends[2], count = 0;
  shown_begin_.read(i, ends);
  for (uint64_t k = ends[0]; k < ends[1]; ++k) count += pictures_->place(shown_[k]).tiles;
  return count;
}

size_t Dataset::read(size_t i, size_t first, std::span<int32_t> words) const {
  const Place at = place(i);
  const size_t count = std::min(words.size(), at.length - first);
  tokens_.read(at.begin + first, words.first(count));
  return count;
}

}  // namespace plimsoll
