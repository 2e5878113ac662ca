// How CPython lays out its threads, frames, code objects and line tables, by version: for the preloaded library, which reads
// its own process, and for the watcher, which reads others. Needs no C++ library.
#pragma once
#include <cstddef>
#include <cstdint>

namespace plimsoll::heap {

// How this version lays out what is read. One row a version; docs/profile.md says which were tried.
struct PythonLayout {
  uint32_t version;
  uint16_t thread_frame, through_frame;  // thread state -> frame; through_frame != none: one more step there
  uint16_t code, previous, instruction;  // of a frame
  uint16_t owner;                        // of a frame: a byte; `foreign` marks one that is no Python function
  uint8_t foreign;
  uint16_t first_line, file, function, lines,
      instructions;                // of a code object; instructions 0: no pointer but an index
  uint16_t ascii_text, wide_text;  // of a string
  uint16_t interpreter, threads;   // of _PyRuntime, and of an interpreter: the heads of their lists
};
inline constexpr uint16_t no_field = 0xffff;
const PythonLayout* find_python_layout(uint32_t version);

// The line of an instruction in the table of its code object, each version's form.
int64_t line_of_pairs_3_9(const uint8_t* table, size_t bytes, int64_t first, int64_t instruction);
int64_t line_of_pairs_3_10(const uint8_t* table, size_t bytes, int64_t first, int64_t instruction);
int64_t line_of_locations_3_11(const uint8_t* table, size_t bytes, int64_t first, int64_t instruction);
// The one of these that a version uses.
int64_t python_line_of(uint32_t version, const uint8_t* table, size_t bytes, int64_t first,
                       int64_t instruction);

}  // namespace plimsoll::heap
