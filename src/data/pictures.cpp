#include "data/pictures.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/read_into.hpp"
#include "base/units.hpp"
#include "data/labels.hpp"
#include "image/picture.hpp"

namespace plimsoll {
namespace {

constexpr size_t longest_name = 4000;

// The bytes of base64, with or without a "data:image/...;base64," before them; nothing where it is something else.
std::optional<std::vector<uint8_t>> from_base64(std::string_view text) {
  const bool may_be_name = !text.starts_with("data:") && text.size() <= longest_name;
  if (text.starts_with("data:")) {
    const size_t comma = text.find(";base64,");
    if (comma == text.npos) fail_input("a picture is a data: address that is not base64");
    text.remove_prefix(comma + 8);
  } else if (text.size() < 64 || text.find('.') != text.npos) {
    if (text.find("://") != text.npos)
      fail_input("a picture is an address ({}...); download it, and name the file",
                 text.substr(0, text.find("://") + 3));
    return std::nullopt;  // a name
  }
  std::vector<uint8_t> bytes;
  bytes.reserve(text.size() / 4 * 3);
  uint32_t held = 0;
  int bits = 0;
  while (text.ends_with('=')) text.remove_suffix(1);
  for (const char c : text) {
    if (c == '\n' || c == '\r') continue;
    const int value = c >= 'A' && c <= 'Z'   ? c - 'A'
                      : c >= 'a' && c <= 'z' ? c - 'a' + 26
                      : c >= '0' && c <= '9' ? c - '0' + 52
                      : c == '+'             ? 62
                      : c == '/'             ? 63
                                             : -1;
    if (value < 0 && may_be_name) return std::nullopt;
    if (value < 0) fail_input("a picture is damaged base64: it has the character {:#04x}", uint8_t(c));
    held = held << 6 | uint32_t(value);
    bits += 6;
    if (bits >= 8) bytes.push_back(uint8_t(held >> (bits -= 8)));
  }
  return bytes;
}

// How a buffer is used: tiles, the file, and memory to decode and to cut.
uint64_t needed(const PictureHeader& header, const TileSettings& settings, uint64_t file) {
  const TileGrid grid = tile_grid(settings, {header.full_width, header.full_height});
  const auto tiles = uint64_t(grid.tiles()) * 3 * uint64_t(settings.tile * settings.tile);
  return tiles + file + std::max<uint64_t>(header.memory(), header_memory) +
         tiles_memory(settings, grid, {header.width, header.height});
}

}  // namespace

std::vector<uint32_t> Pictures::add(Row& row) {
  std::vector<uint32_t> numbers;
  std::vector<std::string> texts;
  for (const std::string& reference : row.pictures) {
    TileGrid grid;
    numbers.push_back(add(reference, grid));
    texts.push_back(text_of(grid));
  }
  size_t next = 0;
  const auto place = [&](std::string& text) {
    for (size_t at = 0; next < texts.size() && (at = text.find(picture_mark, at)) != text.npos;) {
      text.replace(at, picture_mark.size(), texts[next]);
      at += texts[next++].size();
    }
  };
  place(row.text);
  place(row.completion);
  for (Message& message : row.messages) place(message.content);
  return numbers;
}

void Pictures::check(const Row& row, const LabelledTokens& labelled) const {
  const PictureTokens& tokens = options_.tokens;
  const auto count = std::count(labelled.tokens.begin(), labelled.tokens.end(), tokens.token);
  if (row.pictures.empty() && count > 0) fail_input("it has the token {} and no picture", picture_mark);
  if (row.pictures.empty()) return;
  for (size_t at = 0; at < labelled.tokens.size(); ++at)
    if (labelled.tokens[at] == tokens.token && labelled.learned[at])
      fail_input("{}", row.schema == Schema::text ? "it has a picture and no `response` to learn from"
                                                  : "a picture stands in what the assistant says");
  if (count == 0 || count % tokens.rows)
    fail_input("the tokenizer does not know {} as a token", picture_mark);
}

uint32_t Pictures::add(const std::string& reference, TileGrid& grid) {
  const uint64_t hash = XXH3_64bits(reference.data(), reference.size());
  if (const auto found = known_.find(hash); found != known_.end()) {
    grid = found->second.second;
    return found->second.first;
  }
  // Names made of a checksum look like base64.
  std::error_code ignored;
  const bool named = reference.size() <= longest_name &&
                     std::filesystem::is_regular_file(options_.folder / reference, ignored);
  std::optional<std::vector<uint8_t>> inside;
  if (!named) inside = from_base64(reference);
  const std::string path = inside ? "" : (options_.folder / reference).string();
  if (path.size() > longest_name) fail_input("a picture's name has more than {} characters", longest_name);
  const std::string shown = inside ? "the picture in the row" : path;
  std::string file;
  if (!inside) file = read_file(path, options_.buffer);
  const std::span<const uint8_t> bytes =
      inside ? std::span<const uint8_t>(*inside)
             : std::span(reinterpret_cast<const uint8_t*>(file.data()), file.size());
  Entry entry{bytes_.size(), tiles_, 0, 0, inside.has_value()};
  try {
    const PictureHeader header = read_picture_header(bytes, {}, options_.tokens.settings.enough());
    grid = tile_grid(options_.tokens.settings, {header.full_width, header.full_height});
    const uint64_t need = needed(header, options_.tokens.settings, bytes.size());
    if (need > options_.buffer)
      fail_input("it needs {} to be decoded and cut; give --image-buffer {}MB", format_bytes(need),
                 need / 1'000'000 + 1);
    hash_ = XXH3_64bits_withSeed(&hash, sizeof hash, hash_ ^ XXH3_64bits(bytes.data(), bytes.size()));
  } catch (const InputError& error) {
    fail_input("{}: {}", shown, error.what());
  }
  entry.tiles = uint32_t(grid.tiles());
  const auto kept = inside ? std::span<const uint8_t>(*inside)
                           : std::span(reinterpret_cast<const uint8_t*>(path.data()), path.size());
  entry.length = uint32_t(kept.size());
  bytes_.append(kept);
  entries_.push_back(entry);
  tiles_ += entry.tiles;
  const auto number = uint32_t(entries_.size() - 1);
  known_[hash] = {number, grid};
  return number;
}

void Pictures::finish() {
  known_ = {};
  entries_.finish();
  bytes_.finish();
}

// As the processor writes it.
std::string Pictures::text_of(const TileGrid& grid) const {
  const std::string around = "<fake_token_around_image>";
  std::string tile, out;
  for (int64_t i = 0; i < options_.tokens.rows; ++i) tile += picture_mark;
  for (int64_t r = 1; r <= grid.rows; ++r) {
    for (int64_t c = 1; c <= grid.columns; ++c) out += around + fmt::format("<row_{}_col_{}>", r, c) + tile;
    out += "\n";
  }
  if (grid.rows) out += "\n";
  return out + around + "<global-img>" + tile + around;
}

Pictures::Place Pictures::place(uint32_t picture) const {
  const Entry entry = entries_[picture];
  return {entry.first_tile, entry.tiles};
}

std::string Pictures::name(uint32_t picture) const {
  const Entry entry = entries_[picture];
  if (entry.inside) return "a picture in a row";
  std::string path(entry.length, '\0');
  bytes_.read(entry.begin, {reinterpret_cast<uint8_t*>(path.data()), path.size()});
  return path;
}

std::span<const uint8_t> Pictures::read(const Entry& entry, std::span<uint8_t> buffer) const {
  if (entry.inside) {
    bytes_.read(entry.begin, buffer.first(entry.length));
    return buffer.first(entry.length);
  }
  std::array<char, longest_name + 1> path{};
  bytes_.read(entry.begin, {reinterpret_cast<uint8_t*>(path.data()), entry.length});
  const int64_t size = read_into(path.data(), buffer);
  if (size < 0) fail("cannot read it: {}", error_text(int(-size)));
  if (uint64_t(size) > buffer.size()) fail("it has grown since the data was opened");
  return buffer.first(size_t(size));
}

std::span<const uint8_t> Pictures::cut(std::span<const uint8_t> bytes, uint32_t tiles,
                                       std::span<uint8_t> buffer) const {
  const TileSettings& settings = options_.tokens.settings;
  const auto out = buffer.first(size_t(tiles * tile_bytes()));
  std::span<uint8_t> rest = buffer.subspan(out.size() + bytes.size());
  const PictureHeader header =
      read_picture_header(bytes, rest.first(std::min(rest.size(), header_memory)), settings.enough());
  const TileGrid grid = tile_grid(settings, {header.full_width, header.full_height});
  if (uint64_t(grid.tiles()) != tiles || needed(header, settings, bytes.size()) > buffer.size())
    fail("it has changed since the data was opened");
  const auto rgb = decode_picture(bytes, header, rest.first(size_t(header.memory())));
  cut_tiles(settings, grid, rgb.data(), {header.width, header.height}, out,
            rest.subspan(size_t(header.memory())));
  return out;
}

std::span<const uint8_t> Pictures::load(uint32_t picture, std::span<uint8_t> buffer) const {
  const Entry entry = entries_[picture];
  const auto tiles = size_t(entry.tiles * tile_bytes());
  if (options_.blank) {
    std::fill_n(buffer.begin(), tiles, uint8_t{255});
    return buffer.first(tiles);
  }
  try {
    return cut(read(entry, buffer.subspan(tiles)), entry.tiles, buffer);
  } catch (const Error& error) {
    fail("{}: {}", name(picture), error.what());
  }
}

}  // namespace plimsoll
