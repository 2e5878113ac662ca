// Resizes RGB pictures with a Lanczos filter exactly as Pillow 13 does, to the bit: weights in fixed point, first across, then
// down, rounded to bytes in between; first down where the height shrinks by more than twice as many pixels as the width.
// Pillow before 13 always went across first, which differs by a few units of 255 in such pictures.
#pragma once
#include <cstdint>
#include <span>

namespace plimsoll {

struct PixelSize {
  int64_t width = 0, height = 0;
  bool operator==(const PixelSize&) const = default;
  uint64_t rgb_bytes() const { return 3 * uint64_t(width) * uint64_t(height); }
};

// Bytes of working memory resize() needs.
uint64_t resize_memory(PixelSize from, PixelSize to);
// `in` and `out` hold the pixels of a picture, `memory` resize_memory() bytes. Allocates nothing.
void resize(const uint8_t* in, PixelSize from, uint8_t* out, PixelSize to, std::span<uint8_t> memory);

}  // namespace plimsoll
