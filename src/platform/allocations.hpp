// Counts every heap allocation of the process, whoever asks: our code, libc itself, any loaded library.
// Counting is the program's choice: linking counting/malloc.cpp makes its malloc family come first; each call is
// counted and passed on to the next allocator in line, so preloaded allocators and recorders keep working.
//
//   uint64_t before = allocations();
//   step();
//   allocations() - before  // 0, or the step allocated
#pragma once
#include <atomic>
#include <cstdint>

namespace plimsoll {

// False where nobody counts: in a program that does not link the hook, and under the address and thread sanitizers,
// which need malloc for themselves. All counts are 0 then.
bool allocations_counted();
// Calls so far, of all threads, to malloc, calloc, realloc, reallocarray, posix_memalign, aligned_alloc,
// memalign, valloc and pvalloc. Under valgrind, which takes malloc over, it stays where it is.
uint64_t allocations();
// Bytes asked for by those calls.
uint64_t allocated_bytes();
// Calls to free with something to free.
uint64_t deallocations();

// What the hook writes. Constant-initialised: malloc is called before any constructor runs.
struct AllocationCounts {
  std::atomic<bool> hooked{false};
  std::atomic<bool> refused{false};  // the allocator behind the hook had no memory, at least once
  std::atomic<uint64_t> calls{0}, bytes{0}, frees{0};
};
extern AllocationCounts allocation_counts;

}  // namespace plimsoll
