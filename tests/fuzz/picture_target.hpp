// Arbitrary bytes behind the mark of a format: refused with an InputError by the header or while they are decoded, or decoded into
// exactly the memory the header asked for, without an allocation beside it. A target for each decoder gives its mark.
#pragma once
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "image/picture.hpp"
#include "platform/allocations.hpp"

namespace plimsoll {

struct FormatMark {
  std::string_view first, later = {};  // at the beginning, and at byte 8
};

inline void decode_marked(const uint8_t* data, size_t size, const FormatMark& mark) {
  std::vector<uint8_t> bytes(data, data + size);
  const auto put = [&](size_t at, std::string_view text) {
    if (!text.empty() && bytes.size() >= at + text.size())
      std::memcpy(bytes.data() + at, text.data(), text.size());
  };
  put(0, mark.first);
  put(8, mark.later);
  try {
    // The last byte says how far a JPEG may be shrunk.
    const int64_t enough = size ? data[size - 1] % 64 : 0;
    const PictureHeader header = read_picture_header(bytes, {}, enough);
    if (header.pixels() > 1 << 16) return;  // large ones only take longer
    std::vector<uint8_t> memory(header.memory() + 64, 0xa5);
    const std::span<uint8_t> given(memory.data() + 32, size_t(header.memory()));
    const uint64_t before = allocations();
    const auto rgb = decode_picture(bytes, header, given);
    if (allocations() != before) std::abort();
    if (rgb.size() != header.pixels() * 3 || rgb.data() != given.data()) std::abort();
    for (size_t i = 0; i < 32; ++i)
      if (memory[i] != 0xa5 || memory[memory.size() - 1 - i] != 0xa5) std::abort();
  } catch (const InputError&) {
  }
}

}  // namespace plimsoll
