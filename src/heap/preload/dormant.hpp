// A library that was preloaded to sleep: it samples nothing until a watcher writes its wish into a page both share
// (format.hpp), and sleeps again when the watcher takes the wish back or is gone.
#pragma once
#include <cstdint>

namespace plimsoll::heap {

// Makes the page of this process: a file in a folder of this user's own. Called once, before the program runs.
void begin_dormant();
bool dormant();

// What a watcher wishes. `generation` is even and other than any before; 0: nothing was ever wished, or a wish is just
// being written.
struct Wish {
  uint32_t generation;
  bool on;
  uint64_t rate;
  char folder[3072];
};
uint32_t wish_generation();
bool read_wish(Wish& wish);

}  // namespace plimsoll::heap
