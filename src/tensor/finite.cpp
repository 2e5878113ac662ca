#include "tensor/finite.hpp"

#include <cstring>

namespace plimsoll {
namespace {

// All bits of the exponent are set in infinities and NaN only. Without a branch, so that it runs at the speed of memory.
template <typename Bits>
bool without(const void* data, uint64_t elements, Bits exponent) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  Bits lost = 0;
  for (uint64_t i = 0; i < elements; ++i) {
    Bits bits;
    std::memcpy(&bits, bytes + i * sizeof bits, sizeof bits);
    lost = Bits(lost | ((bits & exponent) == exponent));
  }
  return lost == 0;
}

}  // namespace

bool all_finite(const void* data, DType dtype, uint64_t elements) {
  if (dtype == DType::f32) return without<uint32_t>(data, elements, 0x7f800000);
  if (dtype == DType::bf16) return without<uint16_t>(data, elements, 0x7f80);
  if (dtype == DType::f16) return without<uint16_t>(data, elements, 0x7c00);
  return true;
}

}  // namespace plimsoll
