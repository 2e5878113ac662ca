// Line tables of code objects: each version of Python from 3.9 on has its own form, described in CPython's
// Objects/lnotab_notes.txt and Objects/locations.md.
#include "heap/preload/python.hpp"

namespace plimsoll::heap {

// Pairs of (bytes forward, lines forward as a signed byte); a line begins where the sum of the first exceeds.
int64_t line_of_pairs_3_9(const uint8_t* table, size_t bytes, int64_t first, int64_t instruction) {
  int64_t at = 0, line = first;
  for (size_t i = 0; i + 1 < bytes; i += 2) {
    at += table[i];
    if (at > instruction) break;
    line += int8_t(table[i + 1]);
  }
  return line;
}

// Pairs of (length in bytes, lines forward before it); -128 says that the stretch has no line.
int64_t line_of_pairs_3_10(const uint8_t* table, size_t bytes, int64_t first, int64_t instruction) {
  int64_t at = 0, line = first;
  for (size_t i = 0; i + 1 < bytes; i += 2) {
    const auto step = int8_t(table[i + 1]);
    if (step != -128) line += step;
    at += table[i];
    if (at > instruction) break;
  }
  return line;
}

// A byte 1kkkklll begins a stretch of lll + 1 code units; kkkk says how the line follows.
int64_t line_of_locations_3_11(const uint8_t* table, size_t bytes, int64_t first, int64_t instruction) {
  int64_t at = 0, line = first;
  size_t i = 0;
  while (i < bytes) {
    const uint8_t head = table[i++];
    const unsigned kind = head >> 3 & 15;
    if (kind == 11 || kind == 12) line += kind - 10;
    if (kind == 13 || kind == 14) {
      uint64_t value = 0;
      for (unsigned shift = 0; i < bytes && shift < 42; shift += 6) {
        const uint8_t byte = table[i++];
        value |= uint64_t(byte & 63) << shift;
        if (!(byte & 64)) break;
      }
      line += value & 1 ? -int64_t(value >> 1) : int64_t(value >> 1);
    }
    at += ((head & 7) + 1) * 2;
    if (at > instruction) break;
    while (i < bytes && !(table[i] & 128)) ++i;  // columns
  }
  return line;
}

}  // namespace plimsoll::heap
