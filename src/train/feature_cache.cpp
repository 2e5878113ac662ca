#include "train/feature_cache.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace plimsoll {

FeatureCache::FeatureCache(std::span<float> memory, int64_t width, uint64_t tiles,
                           std::unique_ptr<FeatureFile> file)
    : memory_(memory),
      width_(width),
      file_(std::move(file)),
      slot_of_(size_t(tiles), -1),
      tile_in_(memory.size() / size_t(width), -1),
      used_(tile_in_.size(), 0),
      order_(tile_in_.size()) {}

uint32_t FeatureCache::take_slot() {
  const uint32_t slot = order_.oldest();
  if (tile_in_[slot] >= 0) {
    if (used_[slot] == now_)
      fail("[pictures] a step needs more tiles than the {} that are kept", used_.size());
    slot_of_[size_t(tile_in_[slot])] = -1;
    tile_in_[slot] = -1;
  }
  return slot;
}

void FeatureCache::set(uint32_t slot, uint64_t tile) {
  slot_of_[size_t(tile)] = int32_t(slot);
  tile_in_[slot] = int64_t(tile);
  used_[slot] = now_;
  order_.use(slot);
}

const float* FeatureCache::find(uint64_t tile) {
  if (const int32_t slot = slot_of_[size_t(tile)]; slot >= 0) {
    set(uint32_t(slot), tile);
    if (file_) file_->use(tile);
    return features(uint32_t(slot)).data();
  }
  if (!file_ || !file_->holds(tile)) return nullptr;
  const uint32_t slot = take_slot();
  if (!file_->read(tile, features(slot))) return nullptr;
  ++read_;
  set(slot, tile);
  return features(slot).data();
}

void FeatureCache::keep(uint64_t tile, const float* given) {
  const uint32_t slot = take_slot();
  std::copy_n(given, width_, features(slot).data());
  set(slot, tile);
  if (file_) file_->write(tile, features(slot));
}

}  // namespace plimsoll
