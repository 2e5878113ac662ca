// 128-bit XXH3, computed incrementally. The text form is the one printed by `xxh128sum`.
#pragma once
#include <array>
#include <cstddef>
#include <string_view>

namespace plimsoll {

using ChecksumText = std::array<char, 32>;  // hexadecimal, lower case

class Checksum {
 public:
  Checksum() { reset(); }
  void reset();
  void update(const void* data, size_t bytes);
  ChecksumText text() const;

 private:
  alignas(64) std::byte state_[576];
};

ChecksumText checksum_of(std::string_view bytes);
inline std::string_view view(const ChecksumText& text) { return {text.data(), text.size()}; }

}  // namespace plimsoll
