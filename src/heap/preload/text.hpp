// Paths put together in fixed buffers.
#pragma once
#include <cstdint>

namespace plimsoll::heap {

// Appends and returns the new end; `end` bounds the buffer, one byte is kept for the final zero.
inline char* append(char* at, const char* end, const char* text) {
  while (*text && at + 1 < end) *at++ = *text++;
  *at = 0;
  return at;
}
inline char* append(char* at, const char* end, uint64_t number) {
  char digits[24];
  char* digit = digits + sizeof digits;
  *--digit = 0;
  do *--digit = char('0' + number % 10);
  while ((number /= 10) != 0);
  return append(at, end, digit);
}

}  // namespace plimsoll::heap
