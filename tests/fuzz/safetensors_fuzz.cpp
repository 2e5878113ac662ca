// Arbitrary bytes as a safetensors file: refused with an InputError, or described by entries that tile the
// data exactly.
#include <algorithm>
#include <cstdlib>

#include "base/error.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/safetensors.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace plimsoll;
  std::string_view text(reinterpret_cast<const char*>(data), bytes);
  try {
    parse_manifest(text);
  } catch (const InputError&) {
  }
  if (bytes < 8) return 0;
  uint64_t length = 0;
  for (size_t i = 0; i < 8; ++i) length |= uint64_t{data[i]} << (8 * i);
  // A wrong length is another test's business: here it would only hide the parser.
  length = std::min<uint64_t>(length, bytes - 8);
  uint64_t data_bytes = bytes - 8 - length;
  try {
    SafetensorsHeader header = parse_safetensors_header(text.substr(8, length), data_bytes);
    uint64_t reached = 0;
    for (const SafetensorsEntry& tensor : header.tensors) {
      if (tensor.begin != reached || tensor.end < tensor.begin) std::abort();
      reached = tensor.end;
      if (tensor.dtype == "F32" && tensor_bytes(tensor.shape, DType::f32) != tensor.bytes()) std::abort();
    }
    if (reached != data_bytes) std::abort();
  } catch (const InputError& error) {
    if (std::string_view(error.what()).find('\n') != std::string_view::npos) std::abort();
  }
  return 0;
}
