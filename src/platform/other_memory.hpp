// The memory of another process, read without stopping it and without changing anything in it.
#pragma once
#include <cstddef>
#include <cstdint>

namespace plimsoll::platform {

// Copies bytes at an address of a process; false where they cannot all be read. It needs the right to trace the process,
// which is not used otherwise.
bool read_memory(int pid, uint64_t address, void* to, size_t bytes);

}  // namespace plimsoll::platform
