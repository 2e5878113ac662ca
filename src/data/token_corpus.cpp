#include "data/token_corpus.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/units.hpp"
#include "base/utf8.hpp"
#include "data/model_text.hpp"
#include "data/rows.hpp"
#include "data/text_files.hpp"
#include "platform/mapped_file.hpp"
#include "tokens/characters.hpp"

namespace plimsoll {
namespace {

tokens::Class class_after(std::string_view text) {
  const auto [value, bytes] =
      first_code_point({reinterpret_cast<const unsigned char*>(text.data()), text.size()});
  return bytes ? tokens::Classes()(value) : tokens::Class::other;
}

tokens::Class class_before(std::string_view text) {
  size_t begin = text.size() - 1;
  while (begin > 0 && text.size() - begin < 4 && (text[begin] & 0xC0) == 0x80) --begin;
  return class_after(text.substr(begin));
}

}  // namespace

// No pattern has a letter and what follows it, if that is a space, in one piece; nor a newline and the letter after it,
// but some take it along with a space before it.
size_t next_cut(std::string_view text, size_t from) {
  using tokens::Class;
  for (size_t at = text.find_first_of(" \n", std::max<size_t>(1, from)); at != text.npos;
       at = text.find_first_of(" \n", at + 1)) {
    const Class before = class_before(text.substr(0, at));
    if (text[at] == ' ' && before == Class::letter) return at;
    if (text[at] == '\n' && before != Class::space && at + 1 < text.size() &&
        class_after(text.substr(at + 1)) == Class::letter)
      return at + 1;
  }
  return text.size();
}

TokenCorpus::TokenCorpus(const std::string& path, Tokenizer tokenizer, double train_share,
                         const ReadingProgress& reading)
    : path_(path), tokenizer_(std::move(tokenizer)) {
  const std::vector<std::string> files = files_of(path);
  const uint64_t total = total_bytes(files);
  TokenHash hash;
  for (const std::string& file : files)
    read(file, hash, [&](uint64_t done) {
      if (reading) reading(bytes_ + done, std::max(total, bytes_ + done));
    });
  if (tokens_.size() == 0) fail_input("[data] {} is empty; give text to train on", path);
  tokens_.finish();
  train_tokens_ = uint64_t(double(tokens_.size()) * train_share);
  fingerprint_ = fmt::format("tokens xxh3-64 {:016x}", hash.value());
}

void TokenCorpus::read(const std::string& path, TokenHash& hash, const std::function<void(uint64_t)>& pass) {
  const ModelText& model = *tokenizer_.model();
  const MappedFile file(path);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  if (text.empty()) return;
  refuse_other_kinds(path, file.bytes());
  refuse_misnamed_rows(path, text);
  marks_ += text.starts_with("\xEF\xBB\xBF");
  std::vector<int32_t> part;
  const auto keep = [&] {
    hash.update(std::as_bytes(std::span(part)));
    tokens_.append(part);
    part.clear();
  };
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = next_cut(text, std::min(text.size(), begin + pass_stride));
    const std::string_view here = text.substr(begin, end - begin);
    try {
      model.tokenizer.encode(here, part);
      model.check(part);
    } catch (const InputError& error) {
      fail_input("[data] {}, from byte {}: {}", path, begin + 1, error.what());
    }
    for (size_t at = here.find("\r\n"); at != here.npos; at = here.find("\r\n", at + 2)) ++returns_;
    keep();
    file.drop(begin, end - begin);
    begin = end;
    pass(begin);
  }
  if (model.end) part.push_back(*model.end);
  model.check(part);
  keep();
  bytes_ += text.size();
}

std::string TokenCorpus::description() const {
  return fmt::format("{} ({}, {} tokens)", path_, format_bytes(bytes_), format_count(tokens_.size()));
}

std::vector<std::string> TokenCorpus::notes() const {
  std::vector<std::string> notes;
  if (returns_)
    notes.push_back(
        fmt::format("{}: line ends that are CRLF, and are learned so: {}; convert it to leave them out",
                    path_, format_count(returns_)));
  if (marks_)
    notes.push_back(
        fmt::format("{}: the byte-order mark is read as text; convert it to leave it out", path_));
  return notes;
}

void TokenCorpus::window(Split split, uint64_t place, std::span<int32_t> out) const {
  tokens_.read(place + (split == Split::train ? 0 : train_tokens_), out);
}

}  // namespace plimsoll
