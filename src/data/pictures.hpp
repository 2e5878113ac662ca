// The pictures of a data set: files, or bytes written into its rows. Their headers are read when the set is opened; of each
// about 40 bytes and its name, or its bytes where it stands in the row, are kept in temporary files. Pixels are decoded when they
// are needed, into memory the caller gives, and never kept here.
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "data/rows.hpp"
#include "data/spilled.hpp"
#include "image/tiles.hpp"

namespace plimsoll {

struct PictureOptions {
  PictureTokens tokens;
  std::filesystem::path folder;  // of files named by rows
  uint64_t buffer = 16'000'000;  // bytes one picture may take while it is decoded and cut
  bool blank = false;            // every tile is white, whatever the picture shows
};

struct LabelledTokens;

class Pictures {
 public:
  explicit Pictures(PictureOptions options) : options_(std::move(options)) {}

  // Adds the pictures of a row and writes the tokens that stand for them into its texts; returns their numbers. InputError,
  // without a line, for one that is missing, damaged in its header, or too large for the buffer.
  std::vector<uint32_t> add(Row& row);
  // InputError, without a line, where what stands for the pictures of an added row is not there as a whole, where something
  // else looks like it, or where the assistant would have to say it.
  void check(const Row& row, const LabelledTokens& labelled) const;
  void finish();

  const PictureOptions& options() const { return options_; }
  uint64_t size() const { return entries_.size(); }
  uint64_t tiles() const { return tiles_; }  // of all
  // The place of a picture's first tile among those of all, and how many it has.
  struct Place {
    uint64_t first;
    uint32_t tiles;
  };
  Place place(uint32_t picture) const;
  uint64_t tile_bytes() const {
    return 3 * uint64_t(options_.tokens.settings.tile) * uint64_t(options_.tokens.settings.tile);
  }
  // A hash of names and of the bytes of all files.
  uint64_t hash() const { return hash_; }
  std::string name(uint32_t picture) const;

  // The tiles of a picture, at the beginning of `buffer`, which holds options().buffer bytes. Allocates nothing unless it
  // fails: Error, with the picture's name. Any number of threads may.
  std::span<const uint8_t> load(uint32_t picture, std::span<uint8_t> buffer) const;

 private:
  struct Entry {
    uint64_t begin, first_tile;
    uint32_t length, tiles;
    bool inside;  // its bytes are kept, not its name
  };
  uint32_t add(const std::string& reference, TileGrid& grid);
  std::string text_of(const TileGrid& grid) const;
  std::span<const uint8_t> read(const Entry& entry, std::span<uint8_t> buffer) const;
  std::span<const uint8_t> cut(std::span<const uint8_t> bytes, uint32_t tiles,
                               std::span<uint8_t> buffer) const;

  PictureOptions options_;
  Spilled<Entry> entries_;
  Spilled<uint8_t> bytes_;  // names, and pictures that stand in rows
  std::unordered_map<uint64_t, std::pair<uint32_t, TileGrid>>
      known_;  // by the hash of what a row says; while rows are read
  uint64_t tiles_ = 0, hash_ = 0;
};

}  // namespace plimsoll
