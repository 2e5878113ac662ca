// Arbitrary bytes as a line of a batch.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "diagnose/series_files.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string id;
  try {
    plimsoll::diagnose::parse_batch_line({reinterpret_cast<const char*>(data), size}, id);
  } catch (const plimsoll::InputError&) {
  }
  return 0;
}
