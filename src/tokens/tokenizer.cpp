#include "tokens/tokenizer.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/utf8.hpp"
#include "tokens/characters.hpp"

namespace plimsoll::tokens {
namespace {

constexpr uint64_t largest_file = 32 << 20;

size_t ascii_length(std::string_view text) {
  size_t at = 0;
  for (uint64_t eight; at + 8 <= text.size(); at += 8) {
    std::memcpy(&eight, text.data() + at, 8);
    if (eight & 0x8080808080808080) break;
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) ++at;
  return at;
}

void require_utf8(std::string_view text) {
  for (size_t at = ascii_length(text); at < text.size(); at += ascii_length(text.substr(at))) {
    const CodePoint c = first_code_point(bytes_of(text.substr(at)));
    if (!c.bytes) fail_input("byte {} of the text is not UTF-8; convert it first", at + 1);
    at += size_t(c.bytes);
  }
}

}  // namespace

Tokenizer Tokenizer::load(const std::filesystem::path& path) {
  const std::filesystem::path file = std::filesystem::is_directory(path) ? path / "tokenizer.json" : path;
  if (!std::filesystem::exists(file))
    fail_input("there is no {}; expected a tokenizer.json or a model folder that has one", file.string());
  const std::string text = read_file(file, largest_file);
  try {
    return from_json(text);
  } catch (const InputError& error) {
    fail_input("{}: {}", file.string(), error.what());
  }
}

Tokenizer Tokenizer::from_json(std::string_view json) { return Tokenizer(parse_tokenizer_file(json)); }

Tokenizer::Tokenizer(TokenizerFile file)
    : merges_(file.merges.size() / 2),
      added_(std::move(file.added)),
      before_(std::move(file.before)),
      after_(std::move(file.after)),
      fuse_unknown_(file.fuse_unknown),
      single_digits_(file.single_digits),
      prefix_space_(file.prefix_space),
      form_(file.form),
      scanner_(file.scanner) {
  if (file.vocabulary.index() >= 0) fail_input("the vocabulary has a token twice");
  std::vector<bool> writable = read_tokens(file);
  read_merges(file);
  find_whole_pieces(std::move(writable), file.ignore_merges);
  read_added();
  for (const auto* tokens : {&before_, &after_})
    for (const int32_t token : *tokens)
      if (!has(token)) fail_input("the template has the id {}, which no token has", token);
}

// The bytes of every id. Returns which of them the bytes of a text can become: those of the vocabulary that show bytes
// as characters.
std::vector<bool> Tokenizer::read_tokens(const TokenizerFile& file) {
  int32_t most = -1;
  for (const int32_t id : file.ids) most = std::max(most, id);
  for (const AddedToken& token : added_) most = std::max(most, token.id);
  // A few ids may be missing; a table of mostly missing ones is no vocabulary.
  if (most > 0 && uint64_t(most) > 4096 + 4 * (file.ids.size() + added_.size()))
    fail_input("the id {} is far beyond its {} tokens; expected ids that follow each other", most,
               file.ids.size() + added_.size());
  std::vector<int32_t> place(size_t(most + 1), -1);  // in the vocabulary
  std::vector<const AddedToken*> added(place.size());
  for (size_t i = 0; i < file.ids.size(); ++i) {
    int32_t& of_id = place[size_t(file.ids[i])];
    if (of_id >= 0)
      fail_input("the tokens {} and {} have the same id {}", quote(file.vocabulary[size_t(of_id)]),
                 quote(file.vocabulary[i]), file.ids[i]);
    of_id = int32_t(i);
  }
  for (const AddedToken& token : added_) {
    if (file.vocabulary.find(token.content) != place[size_t(token.id)] || added[size_t(token.id)])
      fail_input(
          "the added token {} has the id {}, which disagrees with the vocabulary or another added token",
          quote(token.content), token.id);
    added[size_t(token.id)] = &token;
  }
  std::vector<bool> writable(place.size());
  exists_.resize(place.size());
  special_.resize(place.size());
  byte_tokens_.fill(-1);
  for (size_t id = 0; id < place.size(); ++id) {
    exists_[id] = place[id] >= 0 || added[id];
    special_[id] = added[id] && added[id]->special;
    const std::string text = added[id] && added[id]->normalized ? normalize(added[id]->content, form_)
                             : added[id]                        ? added[id]->content
                             : exists_[id] ? std::string(file.vocabulary[size_t(place[id])])
                                           : std::string();
    const auto bytes = bytes_behind(text);
    bytes_.add(bytes ? *bytes : text);
    writable[id] = place[id] >= 0 && bytes && !bytes->empty();
    if (writable[id] && bytes->size() == 1)
      byte_tokens_[static_cast<unsigned char>((*bytes)[0])] = int32_t(id);
  }
  if (file.unknown) {
    const int32_t known = file.vocabulary.find(*file.unknown);
    if (known >= 0) unknown_ = file.ids[size_t(known)];
    const bool needed = std::count(byte_tokens_.begin(), byte_tokens_.end(), -1) > 0;
    if (known < 0 && needed)
      fail_input("the vocabulary lacks bytes, and their stand-in `unk_token` {} as well",
                 quote(*file.unknown));
  }
  return writable;
}

void Tokenizer::read_merges(const TokenizerFile& file) {
  std::string joined;
  const auto id = [&](std::string_view text, size_t merge) {
    const int32_t at = file.vocabulary.find(text);
    if (at < 0) fail_input("merge {} needs the token {}, which the vocabulary lacks", merge + 1, quote(text));
    return file.ids[size_t(at)];
  };
  for (size_t i = 0; i < file.merges.size() / 2; ++i) {
    const std::string_view left = file.merges[2 * i], right = file.merges[2 * i + 1];
    joined.assign(left).append(right);
    merges_.add(id(left, i), id(right, i), uint32_t(i), id(joined, i));
  }
}

// A piece that is a token needs no joining, provided that joining would give that token.
void Tokenizer::find_whole_pieces(std::vector<bool> writable, bool ignore_merges) {
  std::vector<int32_t> tokens;
  for (size_t id = 0; id < writable.size() && !ignore_merges; ++id) {
    if (!writable[id]) continue;
    tokens.clear();
    append_bytes(bytes_[id], tokens);
    merges_.join(tokens, 0);
    writable[id] = tokens.size() == 1 && tokens[0] == int32_t(id);
  }
  bytes_.index(&writable);
}

void Tokenizer::read_added() {
  std::vector<AddedToken> as_is, normalized;
  for (const AddedToken& token : added_) {
    auto& list = token.normalized ? normalized : as_is;
    list.push_back(token);
    if (token.normalized) list.back().content = normalize(token.content, form_);
  }
  as_is_ = AddedTokens(std::move(as_is));
  normalized_ = AddedTokens(std::move(normalized));
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, bool template_tokens) const {
  std::vector<int32_t> out;
  encode(text, out, template_tokens);
  return out;
}

void Tokenizer::encode(std::string_view text, std::vector<int32_t>& out, bool template_tokens) const {
  require_utf8(text);
  if (template_tokens) out.insert(out.end(), before_.begin(), before_.end());
  std::vector<Stretch> stretches;
  as_is_.split(text, stretches);
  for (const Stretch& stretch : stretches)
    if (stretch.token >= 0)
      out.push_back(stretch.token);
    else
      encode_text(stretch.text, out);
  if (template_tokens) out.insert(out.end(), after_.begin(), after_.end());
}

// Text without special tokens.
void Tokenizer::encode_text(std::string_view text, std::vector<int32_t>& out) const {
  std::string changed;
  if (!is_surely_normal(text, form_)) text = changed = normalize(text, form_);
  if (normalized_.empty()) return encode_pieces(text, out);
  std::vector<Stretch> stretches;
  normalized_.split(text, stretches);
  for (const Stretch& stretch : stretches)
    if (stretch.token >= 0)
      out.push_back(stretch.token);
    else
      encode_pieces(stretch.text, out);
}

void Tokenizer::encode_pieces(std::string_view text, std::vector<int32_t>& out) const {
  std::string prefixed;
  if (prefix_space_ && !text.starts_with(' ')) text = prefixed.append(" ").append(text);
  // Without digits of their own the whole text is one stretch.
  while (!text.empty()) {
    size_t stretch = single_digits_ ? 0 : text.size();
    int digit_bytes = 0;
    while (stretch < text.size()) {
      const Character c = first_character(text.data() + stretch);
      if (c.value < 0x80 ? c.value >= '0' && c.value <= '9' : is_numeric(c.value)) {
        digit_bytes = c.bytes;
        break;
      }
      stretch += size_t(c.bytes);
    }
    for (size_t at = 0; at < stretch;) {
      const std::string_view rest = text.substr(at, stretch - at);
      const size_t bytes = scanner_ ? scanner_(rest) : rest.size();
      encode_piece(rest.substr(0, bytes), out);
      at += bytes;
    }
    if (digit_bytes) encode_piece(text.substr(stretch, size_t(digit_bytes)), out);
    text.remove_prefix(stretch + size_t(digit_bytes));
  }
}

void Tokenizer::encode_piece(std::string_view piece, std::vector<int32_t>& out) const {
  if (const int32_t token = bytes_.find(piece); token >= 0) {
    out.push_back(token);
    return;
  }
  const size_t first = out.size();
  append_bytes(piece, out);
  merges_.join(out, first);
}

void Tokenizer::append_bytes(std::string_view piece, std::vector<int32_t>& out) const {
  bool after_unknown = false;
  for (const char byte : piece) {
    const int32_t token = byte_tokens_[static_cast<unsigned char>(byte)];
    if (token >= 0)
      out.push_back(token);
    else if (unknown_ >= 0 && !(fuse_unknown_ && after_unknown))
      out.push_back(unknown_);
    after_unknown = token < 0;
  }
}

std::string Tokenizer::decode(std::span<const int32_t> tokens) const {
  std::string text;
  for (const int32_t token : tokens) append(text, token);
  return text;
}

void Tokenizer::append(std::string& text, int32_t token) const {
  if (!has(token))
    fail_input("[tokenizer] no token has the id {}; this vocabulary ends at {}", token, vocabulary() - 1);
  text += bytes_[size_t(token)];
}

std::optional<int32_t> Tokenizer::find_added(std::string_view content) const {
  for (const AddedToken& token : added_)
    if (token.content == content) return token.id;
  return std::nullopt;
}

}  // namespace plimsoll::tokens
