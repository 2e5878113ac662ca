// What happens to a block that is sampled: its stack is taken, found or entered in the file's tables, and the block
// noted with the bytes it stands for.
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <time.h>

#include "heap/preload/dormant.hpp"
#include "heap/preload/intern.hpp"
#include "heap/preload/numbers.hpp"
#include "heap/preload/probes.hpp"
#include "heap/preload/process.hpp"
#include "heap/preload/python.hpp"
#include "heap/preload/sampling.hpp"
#include "heap/preload/unwind.hpp"

namespace plimsoll::heap {

__thread int64_t bytes_left = 0;
uint64_t arena_bytes = 0;

namespace {

__thread uint64_t random_state __attribute__((tls_model("initial-exec"))) = 0;
// By which bytes_left was drawn; 0: it was not, this thread slept.
__thread uint64_t drawn_rate __attribute__((tls_model("initial-exec"))) = 0;
__thread bool inside __attribute__((tls_model("initial-exec"))) = false;

// Marks this thread as being in here, so that nothing done here is sampled, and keeps errno.
struct Visit {
  const bool first = !inside;
  const int error = errno;
  Visit() { inside = true; }
  ~Visit() {
    if (first) inside = false;
    errno = error;
  }
};

void draw() {
  if (!profiling_wanted()) {
    // Asleep, this is how often the page is looked at. libstdc++ allocates before the page is made.
    bytes_left = starts_dormant() ? 1 << 20 : INT64_MAX / 2;
    drawn_rate = 0;
    return;
  }
  drawn_rate = sampling_rate();
  bytes_left = int64_t(-natural_logarithm(uniform(random_state)) * double(drawn_rate));
}

// True in a thread's first visit: what was asked for has not been hit by a drawn interval yet.
bool seed() {
  if (random_state != 0) return false;
  random_state = mix(monotonic_nanoseconds(), reinterpret_cast<uintptr_t>(&random_state)) | 1;
  for (int i = 0; i < 4; ++i) uniform(random_state);
  return true;
}

uint32_t slot_of(uint64_t address) { return uint32_t(mix(0, address) >> 46) & (Indices::block_slots - 1); }

void enter_block(Store& store, const Block& block) {
  Indices& indices = *store.indices;
  Header& header = *store.header;
  uint32_t index = indices.free_block;
  if (index != 0) {
    indices.free_block = indices.block_next[index];
  } else if (header.blocks.used < header.blocks.capacity) {
    index = header.blocks.used;
  } else {
    ++header.dropped;
    return;
  }
  Block& entry = store.blocks[index];
  const uint32_t site = block.site;
  ++store.live_blocks;
  entry = block;
  entry.site = 0;
  __atomic_store_n(&entry.site, site, __ATOMIC_RELEASE);  // last: now the entry counts
  if (index == header.blocks.used) __atomic_store_n(&header.blocks.used, index + 1, __ATOMIC_RELEASE);
  uint32_t& head = indices.block_heads[slot_of(block.address)];
  indices.block_next[index] = head;
  head = index;
  uint8_t& count = filter[filter_slot(reinterpret_cast<void*>(block.address))];
  if (count < 255) ++count;
  if (block.domain == Domain::mapping && indices.mapping_count < Indices::mapping_slots)
    indices.mappings[indices.mapping_count++] = index;
}

uint64_t blocks_of(const Block& block) {
  return block.size == 0 ? 1 : (block.bytes + block.size / 2) / block.size;
}

// Removes the note on `address`; false if there is none.
bool remove_block(Store& store, uint64_t address, Block& removed) {
  Indices& indices = *store.indices;
  for (uint32_t* link = &indices.block_heads[slot_of(address)]; *link != 0;
       link = &indices.block_next[*link]) {
    const uint32_t index = *link;
    Block& entry = store.blocks[index];
    if (entry.address != address) continue;
    removed = entry;
    --store.live_blocks;
    __atomic_store_n(&entry.site, 0, __ATOMIC_RELEASE);
    *link = indices.block_next[index];
    indices.block_next[index] = indices.free_block;
    indices.free_block = index;
    uint8_t& count = filter[filter_slot(reinterpret_cast<void*>(address))];
    if (count != 255 && count != 0) --count;
    if (removed.domain == Domain::mapping)
      for (uint32_t i = 0; i < indices.mapping_count; ++i)
        if (indices.mappings[i] == index) {
          indices.mappings[i] = indices.mappings[--indices.mapping_count];
          break;
        }
    Site& site = store.sites[removed.site];
    site.freed_bytes += removed.bytes;
    site.freed_blocks += blocks_of(removed);
    return true;
  }
  return false;
}

struct Stack {
  NativeStack native;
  PythonStack python;
};

void record(void* address, size_t size, Domain domain, uint64_t rate, const Stack& stack) {
  if (!lock()) return;
  if (Store* store = locked_store()) {
    Header& header = *store->header;
    ++header.samples;
    header.arena_bytes = __atomic_load_n(&arena_bytes, __ATOMIC_RELAXED);
    Block old;
    // A block whose end was not seen: its memory was given out again.
    remove_block(*store, reinterpret_cast<uintptr_t>(address), old);
    if (const uint32_t site = find_site(*store, stack.native, stack.python)) {
      const double all = size == 0 ? 0 : double(size) / chance_of_sample(double(size) / double(rate));
      const uint64_t now = monotonic_nanoseconds();
      const Block block{reinterpret_cast<uintptr_t>(address), size, uint64_t(all + 0.5), now, site, domain};
      store->sites[site].bytes += block.bytes;
      store->sites[site].blocks += blocks_of(block);
      enter_block(*store, block);
      keep_pace(now);
      probe_allocation(address, size, block.bytes);
    } else {
      ++header.dropped;
    }
  }
  unlock();
}

}  // namespace

void note_allocation(void* address, size_t size, Domain domain) {
  Visit visit;
  if (!visit.first) return;
  if (!awake()) return draw();
  if (seed()) {
    draw();
    if ((bytes_left -= int64_t(size)) >= 0) return;
  }
  // A thread that has slept begins to count here; before, no interval was drawn.
  const uint64_t rate = drawn_rate;
  draw();
  if (address == nullptr || rate == 0) return;
  Stack stack;
  stack.python.depth = 0;
  walk_python(stack.python);
  walk_native(stack.native, stack.python.depth != 0);
  record(address, size, domain, rate, stack);
}

void note_free(void* address) { take_note(address); }

size_t take_note(void* address) {
  Visit visit;
  if (!visit.first || !lock()) return 0;
  Block removed{};
  if (Store* store = locked_store())
    if (remove_block(*store, reinterpret_cast<uintptr_t>(address), removed)) probe_free(address);
  unlock();
  return removed.size;
}

void note_unmap(void* address, size_t size) {
  Visit visit;
  if (!visit.first || !lock()) return;
  if (Store* store = locked_store()) {
    const auto begin = reinterpret_cast<uintptr_t>(address), end = begin + size;
    Indices& indices = *store->indices;
    for (uint32_t i = 0; i < indices.mapping_count;) {
      const Block block = store->blocks[indices.mappings[i]];
      const uint64_t last = block.address + block.size;
      if (block.address >= end || last <= begin) {
        ++i;
        continue;
      }
      Block left;
      remove_block(*store, block.address, left);  // another one is at place i now
      // Of what remains the larger part is kept.
      const uint64_t before = begin > block.address ? begin - block.address : 0,
                     after = last > end ? last - end : 0;
      if (before == 0 && after == 0) continue;
      left.address = before >= after ? block.address : end;
      left.size = before >= after ? before : after;
      left.bytes = uint64_t(double(block.bytes) * double(left.size) / double(block.size));
      store->sites[left.site].freed_bytes -= left.bytes;
      store->sites[left.site].freed_blocks -= blocks_of(left);
      enter_block(*store, left);
    }
  }
  unlock();
}

}  // namespace plimsoll::heap
