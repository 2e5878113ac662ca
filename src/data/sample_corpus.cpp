#include "data/sample_corpus.hpp"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/error.hpp"
#include "base/random.hpp"
#include "base/units.hpp"
#include "base/utf8.hpp"
#include "data/text_files.hpp"

namespace plimsoll {
namespace {

constexpr size_t longest_line = 16 << 20;  // more is no sample but a file without line breaks
constexpr size_t most_marks = 1 << 16;     // of a part, 2 MB
constexpr uint64_t samples_a_lot = 10;     // one of so many is for validation

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r") == line.npos; }

}  // namespace

struct SampleCorpus::Survey {
  std::vector<bool> seen = std::vector<bool>(0x110000);  // by code point
  bool known = false;  // the tokenizer is given: refuse what it does not know instead of collecting
  double distrust = 0;
  XXH3_state_t* hash = XXH3_createState();
  Survey() { XXH3_64bits_reset(hash); }
  ~Survey() { XXH3_freeState(hash); }
};

SampleCorpus::SampleCorpus(const std::string& path, Tokenizer::Kind kind, SampleOptions options,
                           const ReadingProgress& reading)
    : path_(path),
      options_(options),
      tokenizer_(kind == Tokenizer::Kind::bytes ? Tokenizer::bytes() : Tokenizer::characters({U'\n'})),
      file_(path, true) {
  Survey survey;
  survey.seen[U'\n'] = true;
  open(survey, reading);
  if (kind == Tokenizer::Kind::bytes) return;
  std::vector<char32_t> characters;
  for (size_t value = 0; value < survey.seen.size(); ++value)
    if (survey.seen[value]) characters.push_back(static_cast<char32_t>(value));
  tokenizer_ = Tokenizer::characters(std::move(characters));
}

SampleCorpus::SampleCorpus(const std::string& path, Tokenizer tokenizer, SampleOptions options,
                           const ReadingProgress& reading)
    : path_(path), options_(options), tokenizer_(std::move(tokenizer)), file_(path, true) {
  if (tokenizer_.kind() == Tokenizer::Kind::characters && tokenizer_.token_of(U'\n') < 0)
    fail_input(
        "[data] the model does not know the newline that ends each sample of {}; give it text of its kind",
        path);
  Survey survey;
  survey.known = true;
  open(survey, reading);
}

void SampleCorpus::open(Survey& survey, const ReadingProgress& reading) {
  const auto bytes = file_.bytes();
  refuse_other_kinds(path_, bytes);
  uint64_t all_tokens = 0;
  size_t hashed = 0;
  const auto leave_behind = [&](size_t upto) {  // what has been read: hashed, and out of memory again
    for (; hashed < upto; hashed += std::min(pass_stride, upto - hashed)) {
      const size_t count = std::min(pass_stride, upto - hashed);
      XXH3_64bits_update(survey.hash, bytes.data() + hashed, count);
      file_.drop(hashed, count);
    }
    if (reading) reading(upto, bytes.size());
  };
  for (Place place; place.offset < bytes.size();) {
    if (place.offset - hashed >= pass_stride) leave_behind(place.offset);
    const Place here = place;
    const std::string_view line = take_line(place);
    if (line.empty()) continue;
    const SampleLine sample = parse_line(line);
    if (sample.problem) {
      const std::string what =
          fmt::format("line {} {} (byte {})", here.line + 1, sample.problem, sample.problem_at + 1);
      if (!options_.skip_bad)
        fail_input("[data] {}: {}; correct it, or skip such lines with --skip-bad", path_, what);
      if (counts_.bad++ == 0) first_bad_ = what;
      continue;
    }
    const uint64_t count = survey_text(sample, here, survey);
    parts_[static_cast<size_t>(split_of(here.sample))].add(here, count);
    all_tokens += count;
    survey.distrust += static_cast<double>(count) * distrust_loss(sample.provenance);
    ++counts_.samples;
    counts_.without_authority += !sample.has_authority;
    counts_.without_entropy += !sample.has_entropy;
  }
  leave_behind(bytes.size());
  if (counts_.samples == 0)
    fail_input(
        "[data] {} has no samples; give lines like {{\"text\": \"…\", \"auth_weight\": 0.1, "
        "\"prov_entropy\": 6}}",
        path_);
  mean_distrust_ = survey.distrust / static_cast<double>(all_tokens);
  fingerprint_ = fmt::format("jsonl:{}:{:016x}", bytes.size(), XXH3_64bits_digest(survey.hash));
  // A small file is made resident now, a large one leaves memory behind the reader: either way memory stays flat.
  keep_resident_ = bytes.size() <= resident_limit;
  keep_resident_ ? file_.make_resident() : file_.expect_random_access();
}

uint64_t SampleCorpus::survey_text(const SampleLine& sample, const Place& place, Survey& survey) const {
  const bool characters = tokenizer_.kind() == Tokenizer::Kind::characters;
  uint64_t count = 1;  // the newline after it
  JsonText text(sample.text);
  for (char32_t c = 0; text.next(c);) {
    count += characters ? 1 : c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    if (survey.known && characters && tokenizer_.token_of(c) < 0)
      fail_input(
          "[data] {}: line {} has the character {}, which the model does not know; use text like its "
          "training data",
          path_, place.line + 1, show_code_point(c));
    survey.seen[c] = true;
  }
  return count;
}

// By lot within every ten, so that neither sorted files nor patterns in them leave a kind of sample out.
Split SampleCorpus::split_of(uint64_t sample) const {
  if (options_.all_for_validation) return Split::validation;
  const CounterRng lot(0, Stream::shuffle);
  return lot.below(sample / samples_a_lot, samples_a_lot) == sample % samples_a_lot ? Split::validation
                                                                                    : Split::train;
}

void SampleCorpus::Part::add(const Place& place, uint64_t count) {
  if (tokens == 0) tokens = 1;  // the newline before the first sample
  if (samples++ % stride == 0) {
    if (marks.size() == most_marks) {
      for (size_t i = 0; 2 * i < marks.size(); ++i) marks[i] = marks[2 * i];
      marks.resize(most_marks / 2);
      stride *= 2;
    }
    if ((samples - 1) % stride == 0) marks.push_back({tokens, place});
  }
  tokens += count;
}

std::string SampleCorpus::description() const {
  const auto& [train, validation] = parts_;
  return fmt::format(
      "{}: {}, {} samples of {} {}, {} of them for validation", path_, format_bytes(file_.bytes().size()),
      format_count(counts_.samples), format_count(train.tokens + validation.tokens),
      tokenizer_.kind() == Tokenizer::Kind::bytes ? "bytes" : "characters", format_count(validation.samples));
}

std::vector<std::string> SampleCorpus::notes() const {
  std::vector<std::string> notes;
  const Provenance standard;
  auto missing = [&](uint64_t count, const char* name, double value) {
    if (count)
      notes.push_back(fmt::format("{} of {} samples have no {}; it is taken as {:g}", format_count(count),
                                  format_count(counts_.samples), name, value));
  };
  missing(counts_.without_authority, "auth_weight", standard.authority_weight);
  missing(counts_.without_entropy, "prov_entropy", standard.provenance_entropy);
  if (counts_.bad)
    notes.push_back(fmt::format("{} malformed line{} skipped; the first: {}", format_count(counts_.bad),
                                counts_.bad == 1 ? "" : "s", first_bad_));
  return notes;
}

std::string_view SampleCorpus::line_at(uint64_t offset) const {
  const auto bytes = file_.bytes().subspan(offset);
  const size_t most = std::min(bytes.size(), longest_line + 1);
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  const auto* end = static_cast<const char*>(std::memchr(text, '\n', most));
  return {text, end ? static_cast<size_t>(end - text) : most};
}

SampleLine SampleCorpus::parse_line(std::string_view line) {
  if (line.size() <= longest_line) return parse_sample_line(line);
  SampleLine sample;
  sample.problem = "is longer than 16 MiB; a sample is one line";
  return sample;
}

std::string_view SampleCorpus::take_line(Place& place) const {
  const auto bytes = file_.bytes();
  constexpr unsigned char byte_order_mark[] = {0xEF, 0xBB, 0xBF};
  if (place.offset == 0 && bytes.size() >= 3 && std::memcmp(bytes.data(), byte_order_mark, 3) == 0)
    place.offset = 3;
  const std::string_view line = line_at(place.offset);
  place.offset += line.size();
  while (place.offset < bytes.size() && bytes[place.offset] != '\n') {  // too long: find its end all the same
    const size_t count = std::min(pass_stride, bytes.size() - place.offset);
    const auto* end = static_cast<const unsigned char*>(std::memchr(&bytes[place.offset], '\n', count));
    if (!end) file_.drop(place.offset, count);
    place.offset = end ? static_cast<uint64_t>(end - bytes.data()) : place.offset + count;
  }
  if (place.offset < bytes.size()) ++place.offset;
  ++place.line;
  if (is_blank(line)) return {};
  ++place.sample;
  return line;
}

bool SampleCorpus::next(Split split, Place& place, uint64_t& offset) const {
  const uint64_t end = file_.bytes().size();
  while (place.offset < end) {
    const uint64_t from = place.offset / pass_stride * pass_stride, sample = place.sample;
    const std::string_view line = take_line(place);
    if (!keep_resident_ && place.offset - from >= pass_stride) {
      file_.drop(from, place.offset - from);
      file_.read_ahead(place.offset, pass_stride);
    }
    if (line.empty() || split_of(sample) != split) continue;
    offset =
        static_cast<uint64_t>(reinterpret_cast<const unsigned char*>(line.data()) - file_.bytes().data());
    return true;
  }
  return false;
}

SampleLine SampleCorpus::parse(uint64_t offset, std::span<char> room) const {
  constexpr size_t most_lines = 4096;  // bytes that most lines fit into
  const uint64_t left = file_.bytes().size() - offset;
  for (size_t have = 0; !keep_resident_ && have < room.size();) {
    const auto next = room.subspan(have, std::min(room.size() - have, have ? room.size() : most_lines));
    const size_t got =
        file_.read(offset + have, {reinterpret_cast<unsigned char*>(next.data()), next.size()});
    const auto* end = static_cast<const char*>(std::memchr(next.data(), '\n', got));
    have += got;
    if (end) return parse_line({room.data(), static_cast<size_t>(end - room.data())});
    if (have == left) return parse_line({room.data(), have});
  }
  return parse(offset);
}

void SampleCorpus::release(const SampleLine& sample) const {
  if (keep_resident_ || sample.problem || sample.text.empty()) return;
  const auto* text = reinterpret_cast<const unsigned char*>(sample.text.data());
  const auto bytes = file_.bytes();
  if (std::less<>()(text, bytes.data()) || !std::less<>()(text, bytes.data() + bytes.size())) return;
  file_.drop(static_cast<size_t>(text - bytes.data()), sample.text.size());
}

void SampleCorpus::read(Split split, uint64_t place, std::span<int32_t> tokens,
                        std::span<float> distrust) const {
  const Part& from = part(split);
  const uint64_t count = std::max(tokens.size(), distrust.size());
  if (place > from.tokens || count > from.tokens - place)
    fail("[data] tokens {} to {} are beyond the {} of {}", place, place + count, from.tokens, path_);
  if (count == 0) return;
  uint64_t done = 0;
  if (place == 0) {
    if (!tokens.empty())
      tokens[0] = tokenizer_.kind() == Tokenizer::Kind::bytes ? '\n' : tokenizer_.token_of(U'\n');
    if (!distrust.empty()) distrust[0] = 0;
    done = 1;
  }
  const auto mark = std::upper_bound(from.marks.begin(), from.marks.end(), std::max<uint64_t>(1, place),
                                     [](uint64_t token, const Mark& m) { return token < m.token; }) -
                    1;
  Place at = mark->place;
  uint64_t token = mark->token, offset = 0;
  while (done < count && next(split, at, offset)) {
    const SampleLine sample = parse(offset);
    if (sample.problem) continue;
    SampleTokens text(tokenizer_, sample.text);
    token += text.skip(token < place ? place - token : 0);
    if (text.done()) continue;
    const uint64_t room = count - done;
    const size_t here = tokens.empty() ? text.skip(room) : text.read(tokens.subspan(done));
    if (!distrust.empty())
      std::fill_n(distrust.begin() + static_cast<ptrdiff_t>(done), here,
                  static_cast<float>(distrust_loss(sample.provenance)));
    done += here;
    token += here;
  }
  if (done < count)
    fail("[data] {} has changed since the run began; do not change it while it is being read", path_);
  if (!keep_resident_) file_.drop(mark->place.offset, at.offset - mark->place.offset);
}

SampleTokens::SampleTokens(const Tokenizer& tokenizer, std::string_view raw_text)
    : tokenizer_(&tokenizer), text_(raw_text), done_(false) {}

bool SampleTokens::next(int32_t& token) {
  if (done_) return false;
  if (bytes_left_ > 0) {
    token = bytes_[static_cast<size_t>(byte_count_ - bytes_left_--)];
    return true;
  }
  char32_t character = U'\n';
  done_ = !text_.next(character);  // then it is the newline after the text
  if (tokenizer_->kind() == Tokenizer::Kind::characters) {
    token = std::max(0, tokenizer_->token_of(character));
    return true;
  }
  if (character < 0x80) {
    token = static_cast<int32_t>(character);
    return true;
  }
  std::string encoded;  // four bytes need no memory of their own
  append_utf8(encoded, character);
  std::memcpy(bytes_.data(), encoded.data(), encoded.size());
  byte_count_ = static_cast<int>(encoded.size());
  bytes_left_ = byte_count_ - 1;
  token = bytes_[0];
  return true;
}

size_t SampleTokens::read(std::span<int32_t> out) {
  size_t count = 0;
  while (count < out.size() && next(out[count])) ++count;
  return count;
}

size_t SampleTokens::skip(uint64_t count) {
  size_t skipped = 0;
  for (int32_t ignored = 0; skipped < count && next(ignored);) ++skipped;
  return skipped;
}

}  // namespace plimsoll
