// Python inside this process: its frames, read as raw memory of the own thread (the C API takes references, may run
// the collector and drop the interpreter's lock), and its object allocators, which no hook on malloc sees.
#pragma once
#include <cstddef>
#include <cstdint>

#include "heap/python_layout.hpp"

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

}  // namespace plimsoll::heap
