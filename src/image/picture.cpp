#include "image/picture.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/error.hpp"
#include "image/codec.hpp"
#include "platform/arena.hpp"

namespace plimsoll {
namespace {

bool starts(codec::Bytes bytes, size_t at, std::string_view text) {
  return bytes.size() >= at + text.size() && std::memcmp(bytes.data() + at, text.data(), text.size()) == 0;
}

PictureFormat format_of(codec::Bytes bytes) {
  if (starts(bytes, 0, "\xff\xd8\xff")) return PictureFormat::jpeg;
  if (starts(bytes, 0, "\x89PNG\r\n\x1a\n")) return PictureFormat::png;
  if (starts(bytes, 0, "RIFF") && starts(bytes, 8, "WEBP")) return PictureFormat::webp;
  if (bytes.empty()) fail_input("it is empty");
  fail_input("it is not a picture this build reads ({})", picture_formats());
}

// Lays a pixel on white in the integers of Pillow's alpha_composite.
uint8_t on_white(uint32_t colour, uint32_t opacity) {
  constexpr uint32_t bits = 7;
  const uint32_t mine = opacity << bits, white = (255u << bits) - mine;
  const uint32_t sum = colour * mine + 255 * white + (0x80u << bits);
  return uint8_t(((sum >> 8) + sum) >> 8 >> bits);
}

void drop_opacity(std::span<uint8_t> pixels, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    const uint8_t opacity = pixels[4 * i + 3];
    for (uint64_t c = 0; c < 3; ++c) pixels[3 * i + c] = on_white(pixels[4 * i + c], opacity);
  }
}

bool lies_down(int orientation) { return orientation >= 5; }

// Where a stored pixel stands once the picture is upright.
void turn(const PictureHeader& h, const uint8_t* from, uint8_t* to) {
  const int64_t W = h.stored_width, H = h.stored_height;
  for (int64_t y = 0; y < H; ++y)
    for (int64_t x = 0; x < W; ++x) {
      const bool right_to_left = h.orientation == 2 || h.orientation == 3 || h.orientation >= 7;
      const bool upside_down =
          h.orientation == 3 || h.orientation == 4 || h.orientation == 6 || h.orientation == 7;
      const int64_t u = right_to_left ? W - 1 - x : x, v = upside_down ? H - 1 - y : y;
      const int64_t place = lies_down(h.orientation) ? u * h.width + v : v * h.width + u;
      std::memcpy(to + 3 * place, from + 3 * (y * W + x), 3);
    }
}

}  // namespace

std::string_view name_of(PictureFormat format) {
  constexpr std::string_view names[] = {"JPEG", "PNG", "WebP"};
  return names[size_t(format)];
}

std::string picture_formats() {
  std::string out;
#if PLIMSOLL_JPEG
  out += "JPEG";
#endif
#if PLIMSOLL_PNG
  out += out.empty() ? "PNG" : ", PNG";
#endif
#if PLIMSOLL_WEBP
  out += out.empty() ? "WebP" : ", WebP";
#endif
  return out.empty() ? "no formats" : out;
}

uint64_t PictureHeader::decoded() const {
  return pixels() * uint64_t(channels) + (orientation > 1 ? 3 * pixels() : 0);
}

PictureHeader read_picture_header(codec::Bytes bytes, std::span<uint8_t> memory, int64_t enough) {
  PictureHeader header;
  header.format = format_of(bytes);
  codec::Trouble trouble;
  {
    std::optional<platform::Arena> arena;
    if (!memory.empty()) arena.emplace(memory);
    switch (header.format) {
      case PictureFormat::jpeg:
        codec::read_jpeg_header(bytes, header, trouble);
        break;
      case PictureFormat::png:
        codec::read_png_header(bytes, header, trouble);
        break;
      case PictureFormat::webp:
        codec::read_webp_header(bytes, header, trouble);
    }
  }
  if (trouble.happened()) fail_input("{}", trouble.text);
  header.full_width = header.width = header.stored_width;
  header.full_height = header.height = header.stored_height;
  if (header.width < 1 || header.height < 1) fail_input("it has no pixels");
  if (uint64_t(header.width) > most_pixels / uint64_t(header.height))
    fail_input("it has {} x {} pixels; at most {} million are decoded", header.width, header.height,
               most_pixels / 1'000'000);
  header.orientation = codec::find_orientation(header.format, bytes);
  if (header.format == PictureFormat::jpeg && enough > 0) codec::shrink_jpeg(header, enough);
  if (lies_down(header.orientation)) {
    std::swap(header.width, header.height);
    std::swap(header.full_width, header.full_height);
  }
  return header;
}

std::span<uint8_t> decode_picture(codec::Bytes bytes, const PictureHeader& header,
                                  std::span<uint8_t> memory) {
  if (memory.size() < header.memory())
    fail("[picture] {} bytes are given where {} are needed", memory.size(), header.memory());
  const auto pixels = memory.first(size_t(header.pixels()) * size_t(header.channels));
  codec::Trouble trouble;
  {
    const platform::Arena arena(memory.subspan(size_t(header.decoded()), size_t(header.working)));
    switch (header.format) {
      case PictureFormat::jpeg:
        codec::decode_jpeg(bytes, header, pixels, trouble);
        break;
      case PictureFormat::png:
        codec::decode_png(bytes, header, pixels, trouble);
        break;
      case PictureFormat::webp:
        codec::decode_webp(bytes, header, pixels, trouble);
    }
  }
  if (trouble.happened()) fail_input("{}", trouble.text);
  if (header.channels == 4) drop_opacity(pixels, header.pixels());
  const size_t size = size_t(header.pixels()) * 3;
  if (header.orientation > 1) {
    uint8_t* stored = memory.data() + size_t(header.pixels()) * size_t(header.channels);
    std::memcpy(stored, memory.data(), size);
    turn(header, stored, memory.data());
  }
  return memory.first(size);
}

}  // namespace plimsoll
