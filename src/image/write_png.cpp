#include "image/write_png.hpp"

#include <algorithm>
#include <array>

namespace plimsoll {
namespace {

constexpr auto png_crc_table = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? 0xedb88320u ^ crc >> 1 : crc >> 1;
    table[byte] = crc;
  }
  return table;
}();

void append_big_endian(std::string& out, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += char(value >> shift & 0xff);
}

void append_chunk(std::string& out, std::string_view type, std::string_view data) {
  append_big_endian(out, uint32_t(data.size()));
  const size_t begin = out.size();
  out.append(type).append(data);
  uint32_t crc = ~0u;
  for (size_t i = begin; i < out.size(); ++i)
    crc = png_crc_table[(crc ^ static_cast<unsigned char>(out[i])) & 0xff] ^ crc >> 8;
  append_big_endian(out, ~crc);
}

// A zlib stream of stored blocks.
std::string stored(std::string_view data) {
  constexpr size_t largest_block = 65535;
  std::string out = "\x78\x01";
  uint32_t a = 1, b = 0;
  for (const char byte : data) a = (a + static_cast<unsigned char>(byte)) % 65521, b = (b + a) % 65521;
  do {
    const size_t length = std::min(data.size(), largest_block);
    out += char(length == data.size());
    for (const size_t n : {length, ~length}) out += char(n & 0xff), out += char(n >> 8 & 0xff);
    out += data.substr(0, length);
    data.remove_prefix(length);
  } while (!data.empty());
  append_big_endian(out, b << 16 | a);
  return out;
}

}  // namespace

std::string png_of(std::span<const uint8_t> rgb, PixelSize size) {
  std::string header, rows, out = "\x89PNG\r\n\x1a\n";
  append_big_endian(header, uint32_t(size.width));
  append_big_endian(header, uint32_t(size.height));
  header.append("\x08\x02\0\0\0",
                5);  // 8 bits, RGB, the only compression and filters there are, not interlaced
  const auto width = size_t(3 * size.width);
  for (size_t y = 0; y < size_t(size.height); ++y) {
    rows += '\0';  // no filter
    rows.append(reinterpret_cast<const char*>(rgb.data()) + y * width, width);
  }
  append_chunk(out, "IHDR", header);
  append_chunk(out, "IDAT", stored(rows));
  append_chunk(out, "IEND", "");
  return out;
}

}  // namespace plimsoll
