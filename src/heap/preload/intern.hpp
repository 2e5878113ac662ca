// Entering stacks into the tables of the file, each frame, node and text once.
#pragma once
#include "heap/preload/process.hpp"
#include "heap/preload/python.hpp"
#include "heap/preload/unwind.hpp"

namespace plimsoll::heap {

// The site of this stack; 0 where a table is full. The lock is held.
uint32_t find_site(Store& store, const NativeStack& native, const PythonStack& python);

}  // namespace plimsoll::heap
