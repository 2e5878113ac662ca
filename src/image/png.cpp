// PNG by libpng.
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include "image/codec.hpp"

namespace plimsoll::codec {
namespace {

enum PngColour : uint8_t {
  png_grey = 0,
  png_rgb = 2,
  png_palette = 3,
  png_grey_alpha = 4,
  png_rgb_alpha = 6
};

// Whether a chunk of that name stands before the pixels.
bool png_has(Bytes bytes, const char* name) {
  for (size_t at = 8; at + 8 <= bytes.size();) {
    if (std::memcmp(bytes.data() + at + 4, name, 4) == 0) return true;
    const uint64_t length = big_endian(bytes, at);
    if (std::memcmp(bytes.data() + at + 4, "IDAT", 4) == 0 || length > bytes.size() - at - 8) return false;
    at += 12 + length;
  }
  return false;
}

}  // namespace
}  // namespace plimsoll::codec

#if PLIMSOLL_PNG
#include <png.h>

namespace plimsoll::codec {
namespace {

struct PngInput {
  Bytes rest;
  Trouble* trouble;
};

[[noreturn]] void on_png_error(png_structp png, png_const_charp text) {
  auto* input = static_cast<PngInput*>(png_get_error_ptr(png));
  std::snprintf(input->trouble->text, sizeof input->trouble->text, "it is a damaged PNG: %.120s", text);
  png_longjmp(png, 1);
}

void read_png(png_structp png, png_bytep out, size_t bytes) {
  auto* input = static_cast<PngInput*>(png_get_io_ptr(png));
  if (bytes > input->rest.size()) png_error(png, "it ends too early");
  std::memcpy(out, input->rest.data(), bytes);
  input->rest = input->rest.subspan(bytes);
}

}  // namespace

void read_png_header(Bytes bytes, PictureHeader& header, Trouble& trouble) noexcept {
  if (bytes.size() < 33 || std::memcmp(bytes.data() + 12, "IHDR", 4) != 0 || big_endian(bytes, 8) != 13)
    return trouble.say("it is a damaged PNG: its header is missing");
  const uint32_t width = big_endian(bytes, 16), height = big_endian(bytes, 20);
  header.stored_width = width;
  header.stored_height = height;
  const uint8_t colour = bytes[25];
  const bool alpha = colour == png_grey_alpha || colour == png_rgb_alpha || png_has(bytes, "tRNS");
  header.channels = alpha ? 4 : 3;
  // The window of the decompressor, rows as stored and as expanded, structures.
  header.working = 400'000 + 40 * uint64_t(width);
}

void decode_png(Bytes bytes, const PictureHeader& header, std::span<uint8_t> out, Trouble& trouble) noexcept {
  PngInput input{bytes, &trouble};
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &input, on_png_error,
                                           [](png_structp, png_const_charp) {});
  png_infop info = png ? png_create_info_struct(png) : nullptr;
  if (!info) {
    std::snprintf(trouble.text, sizeof trouble.text, "there is no memory to decode it");
  } else if (!setjmp(png_jmpbuf(png))) {
    png_set_read_fn(png, &input, read_png);
    // What is not pixels is skipped: texts and profiles may be compressed, and large.
    static const png_byte ignored[] =
        "bKGD\0cHRM\0eXIf\0gAMA\0hIST\0iCCP\0iTXt\0oFFs\0pCAL\0pHYs\0sBIT\0sCAL\0sPLT\0sRGB\0tEXt\0tIME\0zTX"
        "t";
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, nullptr, 0);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, ignored, int(sizeof ignored / 5));
    png_set_user_limits(png, png_uint_32(header.stored_width), png_uint_32(header.stored_height));
    png_read_info(png, info);
    png_set_expand(png);
    png_set_strip_16(png);
    png_set_gray_to_rgb(png);
    if (header.channels == 4 && !png_get_valid(png, info, PNG_INFO_tRNS) &&
        !(png_get_color_type(png, info) & PNG_COLOR_MASK_ALPHA))
      png_set_add_alpha(png, 255, PNG_FILLER_AFTER);  // a tRNS chunk that says nothing
    const int passes = png_set_interlace_handling(png);
    png_read_update_info(png, info);
    const size_t row_bytes = size_t(header.stored_width) * size_t(header.channels);
    if (png_get_rowbytes(png, info) != row_bytes) png_error(png, "its header does not fit its pixels");
    for (int pass = 0; pass < passes; ++pass)
      for (int64_t y = 0; y < header.stored_height; ++y)
        png_read_row(png, out.data() + size_t(y) * row_bytes, nullptr);
    png_read_end(png, nullptr);
  }
  if (png) png_destroy_read_struct(&png, info ? &info : nullptr, nullptr);
}

}  // namespace plimsoll::codec

#else
namespace plimsoll::codec {
void read_png_header(Bytes, PictureHeader&, Trouble& trouble) noexcept {
  trouble.say("it is a PNG, and this build has no libpng (libpng-dev)");
}
void decode_png(Bytes, const PictureHeader&, std::span<uint8_t>, Trouble&) noexcept {}
}  // namespace plimsoll::codec
#endif
