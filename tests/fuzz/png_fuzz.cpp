// Arbitrary bytes as a PNG.
#include "picture_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  plimsoll::decode_marked(data, size, {"\x89PNG\r\n\x1a\n"});
  return 0;
}
