// Finds the Exif orientation of a file by walking its segments or chunks.
#include <cstring>

#include "image/codec.hpp"

namespace plimsoll::codec {
namespace {

constexpr uint8_t exif_mark[] = {'E', 'x', 'i', 'f', 0, 0};

Bytes without_mark(Bytes exif) {
  return exif.size() >= 6 && std::memcmp(exif.data(), exif_mark, 6) == 0 ? exif.subspan(6) : exif;
}

int jpeg_orientation(Bytes bytes) {
  for (size_t at = 2; at + 4 <= bytes.size();) {
    if (bytes[at] != 0xff) return 1;
    const uint8_t marker = bytes[at + 1];
    if (marker == 0xff) {  // filling
      ++at;
      continue;
    }
    if (marker == 0xda || marker == 0xd9) return 1;
    const size_t length = size_t(bytes[at + 2]) << 8 | bytes[at + 3];
    if (length < 2 || at + 2 + length > bytes.size()) return 1;
    const Bytes body = bytes.subspan(at + 4, length - 2);
    if (marker == 0xe1 && body.size() > 6 && std::memcmp(body.data(), exif_mark, 6) == 0)
      return tiff_orientation(body.subspan(6));
    at += 2 + length;
  }
  return 1;
}

// PNG: length, name, body, checksum. RIFF: name, length, body, padded to even.
int chunk_orientation(Bytes bytes, bool png) {
  for (size_t at = png ? 8 : 12; at + 8 <= bytes.size();) {
    const uint64_t length = png ? big_endian(bytes, at) : little_endian(bytes, at + 4);
    const uint8_t* name = bytes.data() + at + (png ? 4 : 0);
    if (length > bytes.size() - at - 8) return 1;
    if (std::memcmp(name, png ? "eXIf" : "EXIF", 4) == 0)
      return tiff_orientation(without_mark(bytes.subspan(at + 8, length)));
    at += 8 + length + (png ? 4 : length % 2);
  }
  return 1;
}

}  // namespace

int tiff_orientation(Bytes tiff) {
  if (tiff.size() < 8) return 1;
  const bool big = tiff[0] == 'M' && tiff[1] == 'M';
  if (!big && !(tiff[0] == 'I' && tiff[1] == 'I')) return 1;
  auto two = [&](size_t at) {
    return uint32_t(big ? tiff[at] << 8 | tiff[at + 1] : tiff[at + 1] << 8 | tiff[at]);
  };
  const size_t directory = big ? big_endian(tiff, 4) : little_endian(tiff, 4);
  if (two(2) != 42 || directory > tiff.size() - 2) return 1;
  const size_t entries = two(directory);
  for (size_t i = 0, at = directory + 2; i < entries && at + 12 <= tiff.size(); ++i, at += 12) {
    if (two(at) != 0x0112) continue;
    const uint32_t value = two(at + 8);
    return two(at + 2) == 3 && value >= 1 && value <= 8 ? int(value) : 1;  // 3: a short number
  }
  return 1;
}

int find_orientation(PictureFormat format, Bytes bytes) {
  return format == PictureFormat::jpeg ? jpeg_orientation(bytes)
                                       : chunk_orientation(bytes, format == PictureFormat::png);
}

}  // namespace plimsoll::codec
