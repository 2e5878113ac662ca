// What a frozen tower has seen of tiles, in a file of the run. A slot of it holds the number of a tile, its features and a checksum
// of both; for a new tile the slot is taken that was used longest ago. What does not fit its checksum is forgotten and counted: it is
// looked at again. docs/formats/features.md describes the file.
#pragma once
#include <memory>
#include <vector>

#include "platform/placed_file.hpp"
#include "train/by_use.hpp"

namespace plimsoll {

class FeatureFile {
 public:
  struct Shape {
    uint64_t key;    // of everything features depend on: a file with another key is begun anew
    uint64_t tiles;  // of all pictures
    uint64_t width;  // floats of a tile
    uint64_t bytes;  // the file may have, at least one slot
  };
  // InputError where the file cannot be opened.
  FeatureFile(const std::filesystem::path& path, const Shape& shape);

  uint64_t slots() const { return tile_in_.size(); }
  bool holds(uint64_t tile) const { return slot_of_[size_t(tile)] >= 0; }
  void use(uint64_t tile) {
    if (holds(tile)) order_.use(uint32_t(slot_of_[size_t(tile)]));
  }
  // Fills `out`; false where the tile is not there or its slot is damaged, which is forgotten then.
  bool read(uint64_t tile, std::span<float> out);
  // Keeps them. Where that fails the file is left alone from then on: what it holds can still be read.
  void write(uint64_t tile, std::span<const float> features);

  uint64_t damaged() const { return damaged_; }
  int failure() const { return failure_; }  // errno of the write that failed; 0: none did

 private:
  struct Mark {
    uint64_t tile = 0, checksum = 0;  // tile: its number and 1; 0: the slot is empty
  };
  uint64_t place(int64_t slot) const;
  uint64_t checksum(uint64_t tile, std::span<const float> features) const;
  bool begin(const Shape& shape);
  void find_slots();

  platform::PlacedFile file_;
  uint64_t key_, width_;
  std::vector<int32_t> slot_of_;  // by tile; -1: not there
  std::vector<int64_t> tile_in_;  // by slot; -1: none
  ByUse order_;
  uint64_t damaged_ = 0;
  int failure_ = 0;
};

}  // namespace plimsoll
