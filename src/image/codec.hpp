// What each format's decoder offers to picture.cpp.
#pragma once
#include <cstdio>

#include "image/picture.hpp"

namespace plimsoll::codec {

using Bytes = std::span<const uint8_t>;

inline uint32_t big_endian(Bytes b, size_t at) {
  return uint32_t(b[at]) << 24 | uint32_t(b[at + 1]) << 16 | uint32_t(b[at + 2]) << 8 | b[at + 3];
}
inline uint32_t little_endian(Bytes b, size_t at) {
  return uint32_t(b[at + 3]) << 24 | uint32_t(b[at + 2]) << 16 | uint32_t(b[at + 1]) << 8 | b[at];
}

// What is wrong with a file. Decoders run while malloc takes from an arena, so they neither throw nor keep what they allocate.
struct Trouble {
  char text[160] = "";
  bool happened() const { return text[0] != 0; }
  void say(const char* what) { std::snprintf(text, sizeof text, "%s", what); }
};
// Fill the stored size, channels and working memory.
void read_jpeg_header(Bytes bytes, PictureHeader& header, Trouble& trouble) noexcept;
void read_png_header(Bytes bytes, PictureHeader& header, Trouble& trouble) noexcept;
void read_webp_header(Bytes bytes, PictureHeader& header, Trouble& trouble) noexcept;
// Takes the smaller size a JPEG of this header can be decoded in.
void shrink_jpeg(PictureHeader& header, int64_t enough) noexcept;
// Fill stored_height rows of stored_width pixels of `channels` bytes, of which the fourth is opacity.
void decode_jpeg(Bytes bytes, const PictureHeader& header, std::span<uint8_t> out, Trouble& trouble) noexcept;
void decode_png(Bytes bytes, const PictureHeader& header, std::span<uint8_t> out, Trouble& trouble) noexcept;
void decode_webp(Bytes bytes, const PictureHeader& header, std::span<uint8_t> out, Trouble& trouble) noexcept;

// Of the TIFF structure of Exif data, 1 where there is none or it is damaged.
int tiff_orientation(Bytes tiff);
// The orientation a file states.
int find_orientation(PictureFormat format, Bytes bytes);

}  // namespace plimsoll::codec
