// Element types. All computation is in f32; bf16 and f16 are storage formats for weights, which are widened
// when they are read. Only plain types here: the fast kernels include this.
#pragma once
#include <stdint.h>

namespace plimsoll {

enum class DType : uint8_t { f32, bf16, f16, i32, u8 };
constexpr int dtype_count = 5;

// The bits of a half-precision number; tensor/half.hpp converts them.
struct bf16 {
  uint16_t bits;
};
struct f16 {
  uint16_t bits;
};

// Bytes of an element.
constexpr uint64_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::bf16:
    case DType::f16:
      return 2;
    case DType::u8:
      return 1;
  }
  return 0;
}

constexpr const char* name_of(DType dtype) {
  constexpr const char* names[dtype_count] = {"f32", "bf16", "f16", "i32", "u8"};
  return names[static_cast<int>(dtype)];
}

constexpr bool is_floating(DType dtype) { return dtype != DType::i32 && dtype != DType::u8; }

// The DType of a C++ type.
template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<bf16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct DTypeOf<f16> {
  static constexpr DType value = DType::f16;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = DType::u8;
};

}  // namespace plimsoll
