// Pictures as RGB bytes: JPEG, PNG and WebP, decoded into memory that the caller gives. The header is read first and says how
// much that is, so that a picture that is too large is refused before anything is decoded. Colours become what Pillow and the
// image processors of transformers make of them: grey and palettes are spread out, CMYK is converted, transparency is laid on
// white, the high byte is taken of 16 bits, and the picture is turned as its Exif orientation says.
//
//   const PictureHeader header = read_picture_header(bytes);
//   std::vector<uint8_t> memory(header.memory());
//   std::span<uint8_t> rgb = decode_picture(bytes, header, memory);     // header.height rows of 3 header.width bytes
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace plimsoll {

enum class PictureFormat : uint8_t { jpeg, png, webp };
std::string_view name_of(PictureFormat format);
// The formats this build can decode, "JPEG, PNG, WebP".
std::string picture_formats();

// Larger ones are refused by their header: 8192 x 8192.
constexpr uint64_t most_pixels = uint64_t(1) << 26;

struct PictureHeader {
  PictureFormat format = PictureFormat::jpeg;
  int64_t width = 0, height = 0;                // upright, as it is decoded
  int64_t stored_width = 0, stored_height = 0;  // before it is turned
  int64_t full_width = 0, full_height = 0;      // upright, as the file has it: more where it is shrunk
  int shrunk = 1;                               // 2, 4 or 8: a JPEG that is scaled down while it is decoded
  int orientation = 1;                          // of Exif, 1 to 8
  int channels = 3;                             // bytes of a pixel while it is decoded
  uint64_t working = 0;                         // bytes the decoder may need for itself

  uint64_t pixels() const { return uint64_t(width) * uint64_t(height); }
  uint64_t decoded() const;  // bytes of the pixels while they are decoded and turned
  uint64_t memory() const { return decoded() + working; }
};

// InputError, without a path, for what is not a picture, is damaged in its header, is too large or cannot be decoded here.
// What a library allocates meanwhile comes out of `memory`, where that is given: header_memory bytes. A JPEG is shrunk as far as
// its longer edge keeps `enough` pixels; 0: it is not.
constexpr size_t header_memory = 400'000;
PictureHeader read_picture_header(std::span<const uint8_t> bytes, std::span<uint8_t> memory = {},
                                  int64_t enough = 0);

// The pixels, at the beginning of `memory`, which holds header.memory() bytes; what the decoder allocates comes out of the
// rest where the program's malloc can do that (platform/arena.hpp). InputError for a damaged or truncated file.
std::span<uint8_t> decode_picture(std::span<const uint8_t> bytes, const PictureHeader& header,
                                  std::span<uint8_t> memory);

}  // namespace plimsoll
