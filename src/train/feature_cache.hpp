// What a frozen tower has seen of tiles: in planned memory, at least for the tiles of one step, and in a file of the run where there
// is one. The tile that was used longest ago makes room for a new one.
#pragma once
#include <memory>

#include "train/feature_file.hpp"

namespace plimsoll {

class FeatureCache {
 public:
  // `memory` has slots of `width` floats and outlives this; tiles are numbered below `tiles`. `file` may be null.
  FeatureCache(std::span<float> memory, int64_t width, uint64_t tiles, std::unique_ptr<FeatureFile> file);

  int64_t width() const { return width_; }
  // A step begins: what is found or kept from here on stays in memory until the next does.
  void begin() { ++now_; }
  bool holds(uint64_t tile) const { return slot_of_[size_t(tile)] >= 0 || (file_ && file_->holds(tile)); }
  // The features; null where the tile must be looked at.
  const float* find(uint64_t tile);
  // Keeps the features of a tile that is not in memory.
  void keep(uint64_t tile, const float* features);

  uint64_t read() const { return read_; }  // tiles, from the file
  uint64_t damaged() const { return file_ ? file_->damaged() : 0; }
  int failure() const { return file_ ? file_->failure() : 0; }  // of the file, errno

 private:
  uint32_t take_slot();
  std::span<float> features(uint32_t slot) const {
    return memory_.subspan(size_t(slot) * size_t(width_), size_t(width_));
  }
  void set(uint32_t slot, uint64_t tile);

  std::span<float> memory_;
  int64_t width_;
  std::unique_ptr<FeatureFile> file_;
  std::vector<int32_t> slot_of_;  // by tile; -1: not in memory
  std::vector<int64_t> tile_in_;  // by slot; -1: none
  std::vector<uint64_t> used_;    // by slot: in which step
  ByUse order_;
  uint64_t now_ = 0, read_ = 0;
};

}  // namespace plimsoll
