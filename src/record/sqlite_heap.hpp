// The memory of SQLite: one mapping of fixed size with a buddy allocator, so that the memory of the record is
// bounded and malloc is never called for it. The pages of the database cache come from a pool inside the same
// mapping.
#pragma once
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace plimsoll {

struct SqliteHeapUse {
  bool active = false;    // false: SQLite was already in use by the host program and keeps the host's malloc
  size_t bytes = 0;       // of the mapping: the bound
  size_t used = 0;        // handed out now, page pool included
  size_t high_water = 0;  // the most ever handed out
  uint64_t refused = 0;   // requests that did not fit
};

// Installs the heap; the first call decides, later ones do nothing. Called by RunRecord and RunReader before
// anything else.
void install_sqlite_heap();
SqliteHeapUse sqlite_heap_use();

// A buddy allocator over memory given to it. Blocks are powers of two from 64 bytes; all calls are
// thread-safe.
class BuddyHeap {
 public:
  static constexpr unsigned smallest_order = 6;  // 64 bytes
  static constexpr unsigned largest_order = 22;  // 4 MiB
  // `base` must be aligned to 16 and hold `bytes`, a power of two within the orders above; `orders` one byte
  // per 64 bytes.
  void adopt(unsigned char* base, size_t bytes, uint8_t* orders);
  void* allocate(size_t bytes) noexcept;  // nullptr if it does not fit
  void release(void* block) noexcept;
  size_t size_of(const void* block) const noexcept;
  static size_t round_up(size_t bytes) noexcept;
  struct Use {
    size_t used, high_water;
    uint64_t refused;
  };
  Use use() const noexcept;
  // Invariant: free and used blocks tile the memory, and no two free buddies are left unmerged.
  bool is_valid() const noexcept;

 private:
  struct Free {
    Free *next, *previous;
  };
  void push(size_t index, unsigned order) noexcept;
  void unlink(size_t index, unsigned order) noexcept;
  Free* at(size_t index) const noexcept { return reinterpret_cast<Free*>(base_ + (index << smallest_order)); }

  static constexpr uint8_t free_bit = 0x80;
  mutable std::mutex mutex_;
  unsigned char* base_ = nullptr;
  unsigned top_order_ = 0;
  uint8_t* orders_ =
      nullptr;  // at a block's first unit: its order, with free_bit while free; stale elsewhere
  Free* lists_[largest_order + 1] = {};
  size_t used_ = 0, high_water_ = 0;
  uint64_t refused_ = 0;
};

}  // namespace plimsoll
