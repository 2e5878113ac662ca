#include "train/feature_file.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "base/file.hpp"

namespace plimsoll {
namespace {

struct FeatureHeader {
  char magic[8] = {'P', 'L', 'I', 'M', 'F', 'E', 'A', 'T'};
  uint64_t version = 1, key = 0, width = 0, slots = 0;
  bool operator==(const FeatureHeader&) const = default;
};

size_t feature_slots(const FeatureFile::Shape& shape) {
  const uint64_t fit = shape.bytes / (16 + shape.width * sizeof(float));
  return size_t(std::clamp<uint64_t>(std::min(fit, shape.tiles), 1, std::numeric_limits<int32_t>::max()));
}

template <typename T>
std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

}  // namespace

FeatureFile::FeatureFile(const std::filesystem::path& path, const Shape& shape)
    : key_(shape.key),
      width_(shape.width),
      slot_of_(size_t(shape.tiles), -1),
      tile_in_(feature_slots(shape), -1),
      order_(tile_in_.size()) {
  if (const int code = file_.open(path))
    fail_input("'{}' cannot be opened: {}", path.string(), error_text(code));
  if (begin(shape)) find_slots();
}

// Whether the file was of this shape already; it is empty but for its header otherwise.
bool FeatureFile::begin(const Shape& shape) {
  const FeatureHeader wanted{.key = shape.key, .width = shape.width, .slots = slots()};
  FeatureHeader found;
  if (file_.read(0, bytes_of(found)) == 0 && found == wanted) return true;
  FeatureHeader made = wanted;
  failure_ = file_.clear();
  if (!failure_) failure_ = file_.write(0, bytes_of(made));
  return false;
}

void FeatureFile::find_slots() {
  for (size_t slot = 0; slot < tile_in_.size(); ++slot) {
    Mark mark;
    if (file_.read(place(int64_t(slot)), bytes_of(mark)) != 0) return;  // the file ends here
    const uint64_t tile = mark.tile - 1;
    if (mark.tile == 0 || tile >= slot_of_.size() || holds(tile)) continue;
    slot_of_[size_t(tile)] = int32_t(slot);
    tile_in_[slot] = int64_t(tile);
    order_.use(uint32_t(slot));
  }
}

uint64_t FeatureFile::place(int64_t slot) const {
  return sizeof(FeatureHeader) + uint64_t(slot) * (sizeof(Mark) + width_ * sizeof(float));
}

uint64_t FeatureFile::checksum(uint64_t tile, std::span<const float> features) const {
  return XXH3_64bits_withSeed(features.data(), features.size_bytes(), key_ ^ tile);
}

bool FeatureFile::read(uint64_t tile, std::span<float> out) {
  if (!holds(tile)) return false;
  const int32_t slot = slot_of_[size_t(tile)];
  Mark mark;
  if (file_.read(place(slot), bytes_of(mark)) == 0 && mark.tile == tile + 1 &&
      file_.read(place(slot) + sizeof mark, std::as_writable_bytes(out)) == 0 &&
      mark.checksum == checksum(tile, out)) {
    order_.use(uint32_t(slot));
    return true;
  }
  ++damaged_;
  slot_of_[size_t(tile)] = -1;
  tile_in_[size_t(slot)] = -1;
  order_.forget(uint32_t(slot));
  return false;
}

void FeatureFile::write(uint64_t tile, std::span<const float> features) {
  if (failure_ || holds(tile)) return;
  const uint32_t slot = order_.oldest();
  if (tile_in_[slot] >= 0) slot_of_[size_t(tile_in_[slot])] = -1;
  tile_in_[slot] = -1;
  // The slot is empty until its features are there: a process that is killed in between leaves no damage.
  Mark empty, mark{tile + 1, checksum(tile, features)};
  failure_ = file_.write(place(slot), bytes_of(empty));
  if (!failure_) failure_ = file_.write(place(slot) + sizeof mark, std::as_bytes(features));
  if (!failure_) failure_ = file_.write(place(slot), bytes_of(mark));
  if (failure_) return;
  slot_of_[size_t(tile)] = int32_t(slot);
  tile_in_[slot] = int64_t(tile);
  order_.use(slot);
}

}  // namespace plimsoll
