#include "data/token_corpus.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/units.hpp"
#include "data/model_text.hpp"
#include "data/rows.hpp"
#include "data/text_files.hpp"
#include "platform/mapped_file.hpp"

namespace plimsoll {
namespace {

bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_graphic(char c) { return c > ' ' && c < 0x7F; }

}  // namespace

size_t next_cut(std::string_view text, size_t from) {
  for (size_t newline = text.find('\n', from); newline != text.npos; newline = text.find('\n', newline + 1))
    if (newline > 0 && newline + 1 < text.size() && is_graphic(text[newline - 1]) &&
        is_ascii_letter(text[newline + 1]))
      return newline + 1;
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
