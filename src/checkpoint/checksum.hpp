// XXH3 with 128 bits, fed piece by piece; the text is the one `xxh128sum` prints.
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
