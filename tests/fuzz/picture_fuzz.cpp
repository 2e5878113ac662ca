// Arbitrary bytes as a picture: refused with an InputError by the header or while decoding, or decoded into exactly the memory
// the header asked for. The first byte turned into a format's mark leads every decoder's path from one target; the corpus holds
// files of each format and mode.
#include <cstdlib>
#include <vector>

#include "base/error.hpp"
#include "image/picture.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace plimsoll;
  try {
    const PictureHeader header = read_picture_header({data, bytes});
    if (header.pixels() > 1 << 20) return 0;  // large ones only take longer
    std::vector<uint8_t> memory(header.memory() + 64, 0xa5);
    const std::span<uint8_t> given(memory.data() + 32, size_t(header.memory()));
    const auto rgb = decode_picture({data, bytes}, header, given);
    if (rgb.size() != header.pixels() * 3 || rgb.data() != given.data()) std::abort();
    for (size_t i = 0; i < 32; ++i)
      if (memory[i] != 0xa5 || memory[memory.size() - 1 - i] != 0xa5) std::abort();
  } catch (const InputError&) {
  }
  return 0;
}
