// Arbitrary bytes as a WebP.
#include "picture_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  plimsoll::decode_marked(data, size, {"RIFF", "WEBP"});
  return 0;
}
