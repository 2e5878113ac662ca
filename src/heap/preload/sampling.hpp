// What the hooks touch on every call: a counter of this thread and one byte of a filter. Everything else
// happens in note_allocation and note_free, which are called for sampled blocks only.
//
// Rules of this folder: nothing allocates, throws, starts a thread or calls the dynamic loader from inside a hook; no
// lock outlives a fork (its page is wiped in the child); errno is kept; a lock that cannot be had gives the sample up.
#pragma once
#include <cstddef>
#include <cstdint>

#include "heap/format.hpp"

namespace plimsoll::heap {

// Bytes this thread may still allocate before the next sample; an exponential variate, so that every byte allocated is
// equally likely to be hit. 0 in a new thread: its first allocation draws.
extern __thread int64_t bytes_left __attribute__((tls_model("initial-exec")));

inline constexpr size_t filter_bytes = 1 << 16;
// How many sampled blocks share this slot, counting to 255 and staying there; 0 proves that a block is not sampled.
extern uint8_t* const filter;

// Neighbours in memory are neighbours here: a program that frees what it has just used finds the byte in its cache.
inline size_t filter_slot(const void* address) {
  const uintptr_t bits = reinterpret_cast<uintptr_t>(address);
  return ((bits >> 4) ^ (bits >> 20)) & (filter_bytes - 1);
}
inline bool maybe_sampled(const void* address) {
  return __builtin_expect(__atomic_load_n(&filter[filter_slot(address)], __ATOMIC_RELAXED) != 0, 0);
}
// Whether these bytes are to be sampled.
inline bool count_bytes(size_t size) { return __builtin_expect((bytes_left -= int64_t(size)) < 0, 0); }

__attribute__((noinline, cold)) void note_allocation(void* address, size_t size, Domain domain);
__attribute__((noinline, cold)) void note_free(void* address);
// [address, address + size) is no longer mapped: mappings inside go, those that reach in are cut.
void note_unmap(void* address, size_t size);
// Takes the note on a block away and returns its size, 0 if it was not sampled; for calls that move a block and may fail.
size_t take_note(void* address);

// Bytes mapped by Python's allocator.
extern uint64_t arena_bytes;

}  // namespace plimsoll::heap
