// Python inside this process: its frames, read as raw memory of the own thread (the C API takes references, may run
// the collector and drop the interpreter's lock), and its object allocators, which no hook on malloc sees.
#pragma once
#include <cstddef>
#include <cstdint>

namespace plimsoll::heap {

// Once, before the program runs: finds the interpreter and stands before its allocators.
void start_python();
uint32_t python_version();  // 0x030b; 0: none
bool python_frames_readable();
uintptr_t python_loop();  // the function that runs byte code

struct PythonFrame {
  const char* code;     // the code object
  int32_t instruction;  // bytes from the first; negative: none yet
  uint64_t check;       // differs, most likely, for another code object at the same address
};
struct PythonStack {
  static constexpr size_t most = 96;
  size_t depth;
  PythonFrame frames[most];  // innermost first
};
// Leaves the stack empty where this thread runs no Python.
void walk_python(PythonStack& stack);

// Copies of a code object's texts as UTF-8; at most `most` bytes with the final zero.
size_t python_file(const char* code, char* out, size_t most);
size_t python_function(const char* code, char* out, size_t most);
uint32_t python_line(const PythonFrame& frame);

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
};
inline constexpr uint16_t no_field = 0xffff;
const PythonLayout* find_python_layout(uint32_t version);

// The line of an instruction in the table of its code object, each version's form.
int64_t line_of_pairs_3_9(const uint8_t* table, size_t bytes, int64_t first, int64_t instruction);
int64_t line_of_pairs_3_10(const uint8_t* table, size_t bytes, int64_t first, int64_t instruction);
int64_t line_of_locations_3_11(const uint8_t* table, size_t bytes, int64_t first, int64_t instruction);

}  // namespace plimsoll::heap
