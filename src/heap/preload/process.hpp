// The state of this process: its settings, its file, the lock. All of it lies in pages that are wiped in a forked
// child, so the child finds itself without a file, makes one of its own, and no lock is held.
#pragma once
#include <cstddef>
#include <cstdint>

#include "heap/format.hpp"

namespace plimsoll::heap {

// Reads PLIMSOLL_HEAP (the folder) and PLIMSOLL_HEAP_RATE once, before the program can change them.
void read_settings();
bool starts_dormant();  // PLIMSOLL_HEAP=dormant
// From now on a forked child finds none of this process's state, nor a lock that is held. False where the kernel cannot.
bool wipe_on_fork();
bool profiling_wanted();
// Beyond the program's limit on the size of files the kernel sends a signal, which ends the program.
bool may_write_file_of(uint64_t bytes);
// The program is about to restrict its own system calls. What it would be ended for is not known: from now on nothing is
// sampled in it and what it forks, and the watcher is told. What is freed is still noted, which takes no system call.
void do_no_more();
// Whether to sample now: follows what a watcher wishes of a library that was preloaded to sleep.
bool awake();
// Mean bytes between samples: what was asked for or, while the program allocates little, a fraction of it.
uint64_t sampling_rate();
// After a sample; the lock is held. Chooses the fraction.
void keep_pace(uint64_t nanoseconds);

void remember_allocator(void* its_malloc);
// Whether this address lies in the allocator, where that is not libc.
bool is_allocator(const void* address);

// Private to this process: hash indices over the tables of the file and what else need not be shared.
struct Indices {
  static constexpr uint32_t text_slots = 1 << 16, frame_slots = 1 << 16, node_slots = 1 << 19,
                            block_slots = 1 << 18, memo_slots = 1 << 14, code_slots = 1 << 12,
                            line_slots = 1 << 14, mapping_slots = 1 << 12;
  uint32_t text[text_slots], frames[frame_slots], nodes[node_slots];
  uint64_t frame_keys[frame_capacity];
  uint32_t block_heads[block_slots], block_next[block_capacity];
  uint32_t free_block;  // head of the list of blocks that were used and are free
  uint32_t mapping_count, mappings[mapping_slots];
  struct Memo {
    uint64_t hash;
    uint32_t site;
  } memo[memo_slots];
  struct Code {  // what was read of a Python code object
    uint64_t address, check;
    uint32_t file, function;
  } codes[code_slots];
  struct Line {
    uint64_t key;
    uint32_t frame;
  } lines[line_slots];
};

struct Store {
  uint32_t live_blocks;  // in the table
  uint32_t overflow;     // the site of stacks that found a table full; 0: none was made yet
  Header* header;
  char* text;
  Module* modules;
  Frame* frames;
  Node* nodes;
  Site* sites;
  Block* blocks;
  Indices* indices;
};

// The file of this process, made at the first call; nullptr where there can be none. The lock is held.
Store* locked_store();
bool lock();
void unlock();

}  // namespace plimsoll::heap
