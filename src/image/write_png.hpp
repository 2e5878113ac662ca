// Writes small pictures as PNG: 8 bits of RGB, not compressed, so that no library is needed.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "image/resize.hpp"

namespace plimsoll {

// The bytes of a file; `rgb` has size.rgb_bytes() of them.
std::string png_of(std::span<const uint8_t> rgb, PixelSize size);

}  // namespace plimsoll
