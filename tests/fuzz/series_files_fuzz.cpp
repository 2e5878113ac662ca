// Arbitrary bytes as a recorded series: refused with an InputError, or read and judged without a crash.
#include <cstdint>
#include <string_view>

#include "base/error.hpp"
#include "diagnose/series_files.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    for (auto& series : plimsoll::diagnose::parse_series(text, "fuzz"))
      plimsoll::verdict::judge(series.samples);
  } catch (const plimsoll::InputError&) {
  }
  return 0;
}
