#include "heap/python_layout.hpp"

namespace plimsoll::heap {
namespace {

constexpr PythonLayout layouts[] = {
    // version, thread -> frame, through, code, previous, instruction, owner, foreign,
    // first line, file, function, lines, instructions, ascii, wide, interpreter, threads
    {0x0309, 24, no_field, 32, 24, 104, no_field, 0, 40, 104, 112, 120, 0, 48, 72, 32, 8},
    {0x030a, 24, no_field, 32, 24, 96, no_field, 0, 40, 104, 112, 120, 0, 48, 72, 32, 8},
    {0x030b, 56, 8, 32, 48, 56, no_field, 0, 72, 112, 128, 136, 184, 48, 72, 40, 16},
    {0x030c, 56, 0, 0, 8, 56, 70, 3, 68, 112, 128, 136, 192, 40, 56, 40, 72},
    {0x030d, 72, no_field, 0, 8, 56, 70, 3, 68, 112, 128, 136, 200, 40, 56, 632, 7344},
};

}  // namespace

const PythonLayout* find_python_layout(uint32_t version) {
  for (const PythonLayout& layout : layouts)
    if (layout.version == version) return &layout;
  return nullptr;
}

// Line tables of code objects: each version of Python from 3.9 on has its own form, described in CPython's
// Objects/lnotab_notes.txt and Objects/locations.md.

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

int64_t python_line_of(uint32_t version, const uint8_t* table, size_t bytes, int64_t first,
                       int64_t instruction) {
  if (version == 0x0309) return line_of_pairs_3_9(table, bytes, first, instruction);
  if (version == 0x030a) return line_of_pairs_3_10(table, bytes, first, instruction);
  return line_of_locations_3_11(table, bytes, first, instruction);
}

}  // namespace plimsoll::heap
