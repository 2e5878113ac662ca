// Arbitrary bytes as a JPEG.
#include "picture_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  plimsoll::decode_marked(data, size, {"\xff\xd8\xff"});
  return 0;
}
