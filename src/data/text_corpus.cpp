#include "data/text_corpus.hpp"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "base/units.hpp"
#include "base/utf8.hpp"
#include "data/text_files.hpp"

namespace plimsoll {
namespace {

constexpr uint64_t index_stride = 4096;  // characters between two entries of a piece's index
constexpr size_t most_open_files = 64;   // so many are kept open, of more each is opened when it is read
constexpr unsigned char byte_order_mark[] = {0xEF, 0xBB, 0xBF};

// The bytes of a file from a place on: straight from memory, or read a stretch at a time so that nothing of a large
// file becomes memory of this process.
class Bytes {
 public:
  Bytes(const MappedFile& file, bool mapped) : file_(file), mapped_(mapped) {}

  // As many as are at hand, at least four where the file has four more.
  std::span<const unsigned char> from(size_t at) {
    if (mapped_) return file_.bytes().subspan(at);
    if (at < begin_ || at + 4 > end_) {
      if (at < begin_ || end_ < file_.bytes().size() || at >= end_) {
        begin_ = at;
        end_ = at + file_.read(at, stretch_);
        while (end_ - begin_ < 4 && end_ < file_.bytes().size())
          end_ += file_.read(end_, std::span(stretch_).subspan(end_ - begin_));
      }
    }
    return std::span(stretch_).subspan(at - begin_, end_ - at);
  }

 private:
  const MappedFile& file_;
  bool mapped_;
  size_t begin_ = 0, end_ = 0;  // of the stretch
  std::array<unsigned char, 4096> stretch_;
};

}  // namespace

struct TextCorpus::Survey {
  std::vector<bool> seen = std::vector<bool>(0x110000);  // by code point
  bool known = false;  // the tokenizer is given: refuse what it does not know instead of collecting
  XXH3_state_t* hash = XXH3_createState();
  std::function<void(uint64_t)> pass;  // hears how many bytes of a file have been read
  Survey() { XXH3_64bits_reset(hash); }
  ~Survey() { XXH3_freeState(hash); }
};

TextCorpus::TextCorpus(const std::string& path, Tokenizer::Kind kind, double train_share,
                       const ReadingProgress& reading)
    : path_(path),
      tokenizer_(kind == Tokenizer::Kind::bytes ? Tokenizer::bytes() : Tokenizer::characters({U' '})) {
  Survey survey;
  carriage_returns_ = marks_ = kind == Tokenizer::Kind::bytes;
  open(survey, reading);
  if (kind == Tokenizer::Kind::characters) {
    std::vector<char32_t> characters;
    for (size_t value = 0; value < survey.seen.size(); ++value)
      if (survey.seen[value]) characters.push_back(static_cast<char32_t>(value));
    tokenizer_ = Tokenizer::characters(std::move(characters));
  }
  finish(survey, train_share);
}

TextCorpus::TextCorpus(const std::string& path, Tokenizer tokenizer, double train_share,
                       const ReadingProgress& reading)
    : path_(path), tokenizer_(std::move(tokenizer)) {
  Survey survey;
  survey.known = true;
  const bool bytes = tokenizer_.kind() == Tokenizer::Kind::bytes;
  carriage_returns_ = bytes || tokenizer_.token_of(U'\r') >= 0;
  marks_ = bytes || tokenizer_.token_of(U'\uFEFF') >= 0;
  open(survey, reading);
  finish(survey, train_share);
}

void TextCorpus::open(Survey& survey, const ReadingProgress& reading) {
  const std::vector<std::string> files = files_of(path_);
  const uint64_t total = reading ? total_bytes(files) : 0;
  if (reading) survey.pass = [&](uint64_t done) { reading(bytes_ + done, std::max(total, bytes_ + done)); };
  for (const std::string& name : files) {
    Piece piece{MappedFile(name, files.size() <= most_open_files), tokens_};
    if (piece.file.bytes().empty()) continue;
    read_through(name, piece, survey);
    bytes_ += piece.file.bytes().size();
    returns_left_out_ += piece.returns_left_out;
    marks_left_out_ += piece.mark_left_out;
    tokens_ += piece.tokens;
    pieces_.push_back(std::move(piece));
  }
  if (tokens_ == 0) fail_input("[data] {} is empty; give text to train on", path_);
}

// Bytes at `at` that are no token: a byte-order mark, the first half of CRLF.
size_t TextCorpus::left_out(std::span<const unsigned char> bytes, size_t at) const {
  if (!carriage_returns_ && bytes[at] == '\r' && at + 1 < bytes.size() && bytes[at + 1] == '\n') return 1;
  if (!marks_ && at == 0 && bytes.size() >= 3 &&
      std::equal(byte_order_mark, byte_order_mark + 3, bytes.begin()))
    return 3;
  return 0;
}

void TextCorpus::read_through(const std::string& name, Piece& piece, Survey& survey) const {
  const auto bytes = piece.file.bytes();
  const bool characters = tokenizer_.kind() == Tokenizer::Kind::characters;
  if (characters) refuse_other_kinds(name, bytes);
  bool one_byte_each = true;
  size_t at = 0;
  for (size_t from = 0; from < bytes.size();) {
    const size_t end = std::min(bytes.size(), from + pass_stride);
    XXH3_64bits_update(survey.hash, bytes.data() + from, end - from);
    if (!characters) at = end;
    while (at < end) {
      if (const size_t skipped = left_out(bytes, at)) {
        piece.returns_left_out += skipped == 1;
        piece.mark_left_out |= skipped == 3;
        at += skipped;
        one_byte_each = false;
        continue;
      }
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
    if (survey.pass) survey.pass(end);
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
  for (Piece& piece : pieces_)
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

// Passes over as many of `skip` characters as begin in `bytes` with all that is needed to tell their end; returns their
// bytes. Lead bytes alone tell: everything here was checked on opening.
size_t TextCorpus::passed_over(std::span<const unsigned char> bytes, bool last, uint64_t& skip) const {
  const size_t end = last ? bytes.size() : bytes.size() - 3;
  size_t at = 0;
  while (skip > 0 && at < end) {
    const unsigned char lead = bytes[at];
    if (!carriage_returns_ && lead == '\r' && at + 1 < bytes.size() && bytes[at + 1] == '\n') {
      ++at;
      continue;
    }
    at += lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    --skip;
  }
  return at;
}

size_t TextCorpus::read(const Piece& piece, uint64_t token, std::span<int32_t> out) const {
  Bytes bytes(piece.file, keep_resident_);
  const size_t count = std::min<uint64_t>(out.size(), piece.tokens - token);
  size_t at = token;
  if (piece.offsets.empty()) {  // a byte a token
    const bool raw = tokenizer_.kind() == Tokenizer::Kind::bytes;
    for (size_t i = 0; i < count;)
      for (const unsigned char byte : bytes.from(at).first(std::min(bytes.from(at).size(), count - i))) {
        out[i++] = raw ? byte : tokenizer_.token_of(byte);
        ++at;
      }
  } else {
    at = piece.offsets[token / index_stride];
    const auto skip_left_out = [&] {
      if (!carriage_returns_ && bytes.from(at)[0] == '\r' && bytes.from(at).size() > 1 &&
          bytes.from(at)[1] == '\n')
        ++at;
    };
    for (uint64_t skip = token % index_stride; skip > 0;) {
      const std::span<const unsigned char> here = bytes.from(at);
      at += passed_over(here, at + here.size() == piece.file.bytes().size(), skip);
    }
    for (size_t i = 0; i < count; ++i) {
      skip_left_out();
      const auto [value, length] = first_code_point(bytes.from(at));
      out[i] = tokenizer_.token_of(value);
      at += length;
    }
  }
  return count;
}

std::vector<std::string> TextCorpus::notes() const {
  std::vector<std::string> notes;
  if (returns_left_out_)
    notes.push_back(
        fmt::format("{}: {} line ends are CRLF and are read as LF", path_, format_count(returns_left_out_)));
  if (marks_left_out_) notes.push_back(fmt::format("{}: the byte-order mark is skipped", path_));
  return notes;
}

void TextCorpus::drop_cached_pages() const {
  for (const Piece& piece : pieces_) piece.file.drop(0, piece.file.bytes().size());
}

}  // namespace plimsoll
