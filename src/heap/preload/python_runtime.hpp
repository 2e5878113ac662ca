// What start_python found of the interpreter.
#pragma once
#include "heap/preload/python.hpp"

namespace plimsoll::heap {

struct PythonRuntime {
  uint32_t version;
  const PythonLayout* layout;  // nullptr: frames are not read
  const void* (*this_thread)();
  const char* code_type;
  uintptr_t loop;
};
const PythonRuntime& python_runtime();

}  // namespace plimsoll::heap
