#include "data/text_corpus.hpp"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "base/units.hpp"
#include "data/utf8.hpp"

namespace plimsoll {
namespace {

constexpr uint64_t index_stride = 4096;         // characters between two entries of a piece's index
constexpr size_t most_files = 30'000;           // Linux allows a process about twice as many mappings

std::vector<std::string> files_of(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  std::vector<std::string> files;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error))
    if (std::error_code ignored; entry->is_regular_file(ignored)) files.push_back(entry->path().string());
  if (error)
    fail_input("[data] cannot read the directory {}: {}; check its permissions", path, error.message());
  if (files.empty())
    fail_input("[data] the directory {} has no regular files; give a directory of text files", path);
  if (files.size() > most_files)
    fail_input("[data] {} has {} files, at most {} can be mapped; join them into larger files", path,
               files.size(), most_files);
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

struct TextCorpus::Survey {
  std::vector<bool> seen = std::vector<bool>(0x110000);  // by code point
  bool known = false;  // the tokenizer is given: refuse what it does not know instead of collecting
  XXH3_state_t* hash = XXH3_createState();
  Survey() { XXH3_64bits_reset(hash); }
  ~Survey() { XXH3_freeState(hash); }
};

TextCorpus::TextCorpus(const std::string& path, Tokenizer::Kind kind, double train_share)
    : path_(path),
      tokenizer_(kind == Tokenizer::Kind::bytes ? Tokenizer::bytes() : Tokenizer::characters({U' '})) {
  Survey survey;
  open(survey);
  if (kind == Tokenizer::Kind::characters) {
    std::vector<char32_t> characters;
    for (size_t value = 0; value < survey.seen.size(); ++value)
      if (survey.seen[value]) characters.push_back(static_cast<char32_t>(value));
    tokenizer_ = Tokenizer::characters(std::move(characters));
  }
  finish(survey, train_share);
}

TextCorpus::TextCorpus(const std::string& path, Tokenizer tokenizer, double train_share)
    : path_(path), tokenizer_(std::move(tokenizer)) {
  Survey survey;
  survey.known = true;
  open(survey);
  finish(survey, train_share);
}

void TextCorpus::open(Survey& survey) {
  for (const std::string& name : files_of(path_)) {
    Piece piece{MappedFile(name), tokens_};
    if (piece.file.bytes().empty()) continue;
    read_through(name, piece, survey);
    bytes_ += piece.file.bytes().size();
    tokens_ += piece.tokens;
    pieces_.push_back(std::move(piece));
  }
  if (tokens_ == 0) fail_input("[data] {} is empty; give text to train on", path_);
}

void TextCorpus::read_through(const std::string& name, Piece& piece, Survey& survey) const {
  const auto bytes = piece.file.bytes();
  const bool characters = tokenizer_.kind() == Tokenizer::Kind::characters;
  bool one_byte_each = true;
  size_t at = 0;
  for (size_t from = 0; from < bytes.size();) {
    const size_t end = std::min(bytes.size(), from + pass_stride);
    XXH3_64bits_update(survey.hash, bytes.data() + from, end - from);
    if (!characters) at = end;
    while (at < end) {
      if (piece.tokens % index_stride == 0) piece.offsets.push_back(at);
      const auto [value, length] = first_code_point(bytes.subspan(at));
      if (length == 0)
        fail_input("[data] {} is not UTF-8 at byte {}; convert it to UTF-8 or use --tokenizer bytes", name,
                   at);
      if (survey.known && tokenizer_.token_of(value) < 0)
        fail_input(
            "[data] {} has the character {} at byte {}, which the model does not know; use text like its "
            "training data",
            name, show_code_point(value), at);
      survey.seen[value] = true;
      one_byte_each &= length == 1;
      at += length;
      ++piece.tokens;
    }
    piece.file.drop(from, end - from);
    from = end;
  }
  if (!characters) piece.tokens = bytes.size();
  if (one_byte_each) piece.offsets = {};
  piece.offsets.shrink_to_fit();
}

void TextCorpus::finish(const Survey& survey, double train_share) {
  if (!(train_share >= 0 && train_share <= 1))
    fail_input("[data] a training share of {}; expected 0 to 1", train_share);
  train_tokens_ = std::min(tokens_, static_cast<uint64_t>(static_cast<double>(tokens_) * train_share));
  fingerprint_ = fmt::format("text:{}:{:016x}", bytes_, XXH3_64bits_digest(survey.hash));
  // A small text is made resident now, a large one leaves memory after every window: either way memory stays
  // flat.
  keep_resident_ = bytes_ <= resident_limit;
  for (const Piece& piece : pieces_)
    keep_resident_ ? piece.file.make_resident() : piece.file.expect_random_access();
}

std::string TextCorpus::description() const {
  return fmt::format("{}: {}, {} {}, {} of them for validation", path_, format_bytes(bytes_),
                     format_count(tokens_),
                     tokenizer_.kind() == Tokenizer::Kind::bytes ? "bytes" : "characters",
                     format_count(tokens_ - train_tokens_));
}

void TextCorpus::window(Split split, uint64_t place, std::span<int32_t> out) const {
  const uint64_t available = *tokens(split);
  if (place > available || out.size() > available - place)
    fail("[data] tokens {} to {} are beyond the {} of {}", place, place + out.size(), available, path_);
  uint64_t token = place + (split == Split::train ? 0 : train_tokens_);
  auto piece = std::upper_bound(pieces_.begin(), pieces_.end(), token,
                                [](uint64_t t, const Piece& p) { return t < p.first_token; }) -
               1;
  for (size_t done = 0; done < out.size(); ++piece) {
    const size_t read_here = read(*piece, token - piece->first_token, out.subspan(done));
    done += read_here;
    token += read_here;
  }
}

size_t TextCorpus::read(const Piece& piece, uint64_t token, std::span<int32_t> out) const {
  const auto bytes = piece.file.bytes();
  const size_t count = std::min<uint64_t>(out.size(), piece.tokens - token);
  size_t first = token, at = token;
  if (tokenizer_.kind() == Tokenizer::Kind::bytes) {
    for (size_t i = 0; i < count; ++i) out[i] = bytes[at++];
  } else if (piece.offsets.empty()) {
    for (size_t i = 0; i < count; ++i) out[i] = tokenizer_.token_of(bytes[at++]);
  } else {
    first = at = piece.offsets[token / index_stride];
    // Lead bytes alone tell how far to skip: everything here was checked on opening.
    for (uint64_t skip = token % index_stride; skip > 0; --skip) {
      const unsigned char lead = bytes[at];
      at += lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    }
    for (size_t i = 0; i < count; ++i) {
      const auto [value, length] = first_code_point(bytes.subspan(at));
      out[i] = tokenizer_.token_of(value);
      at += length;
    }
  }
  if (!keep_resident_) piece.file.drop(first, at - first);
  return count;
}

void TextCorpus::drop_cached_pages() const {
  for (const Piece& piece : pieces_) piece.file.drop(0, piece.file.bytes().size());
}

}  // namespace plimsoll
