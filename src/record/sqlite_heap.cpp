#include "record/sqlite_heap.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "platform/memory.hpp"

namespace plimsoll {

void BuddyHeap::adopt(unsigned char* base, size_t bytes, uint8_t* orders) {
  base_ = base;
  orders_ = orders;
  top_order_ = static_cast<unsigned>(std::bit_width(bytes)) - 1;
  push(0, top_order_);
}

size_t BuddyHeap::round_up(size_t bytes) noexcept {
  return std::bit_ceil(std::max(bytes, size_t{1} << smallest_order));
}

void BuddyHeap::push(size_t index, unsigned order) noexcept {
  Free* block = at(index);
  block->previous = nullptr;
  block->next = lists_[order];
  if (block->next) block->next->previous = block;
  lists_[order] = block;
  orders_[index] = static_cast<uint8_t>(order) | free_bit;
}

void BuddyHeap::unlink(size_t index, unsigned order) noexcept {
  Free* block = at(index);
  if (block->next) block->next->previous = block->previous;
  if (block->previous)
    block->previous->next = block->next;
  else
    lists_[order] = block->next;
}

void* BuddyHeap::allocate(size_t bytes) noexcept {
  std::lock_guard lock(mutex_);
  if (bytes > size_t{1} << top_order_) {
    ++refused_;
    return nullptr;
  }
  const auto wanted = static_cast<unsigned>(std::bit_width(round_up(bytes))) - 1;
  unsigned order = wanted;
  while (order <= top_order_ && !lists_[order]) ++order;
  if (order > top_order_) {
    ++refused_;
    return nullptr;
  }
  auto* block = reinterpret_cast<unsigned char*>(lists_[order]);
  const auto index = static_cast<size_t>(block - base_) >> smallest_order;
  unlink(index, order);
  while (order > wanted) {
    --order;
    push(index + (size_t{1} << (order - smallest_order)), order);
  }
  orders_[index] = static_cast<uint8_t>(wanted);
  used_ += size_t{1} << wanted;
  high_water_ = std::max(high_water_, used_);
  return block;
}

void BuddyHeap::release(void* block) noexcept {
  if (!block) return;
  std::lock_guard lock(mutex_);
  auto index = static_cast<size_t>(static_cast<unsigned char*>(block) - base_) >> smallest_order;
  unsigned order = orders_[index];
  used_ -= size_t{1} << order;
  // The buddy's first unit is always the start of some block, so its order byte is never stale.
  while (order < top_order_) {
    const size_t buddy = index ^ (size_t{1} << (order - smallest_order));
    if (orders_[buddy] != (order | free_bit)) break;
    unlink(buddy, order);
    index = std::min(index, buddy);
    ++order;
  }
  push(index, order);
}

size_t BuddyHeap::size_of(const void* block) const noexcept {
  const auto index = static_cast<size_t>(static_cast<const unsigned char*>(block) - base_) >> smallest_order;
  return size_t{1} << orders_[index];
}

BuddyHeap::Use BuddyHeap::use() const noexcept {
  std::lock_guard lock(mutex_);
  return {used_, high_water_, refused_};
}

bool BuddyHeap::is_valid() const noexcept {
  std::lock_guard lock(mutex_);
  const size_t units = size_t{1} << (top_order_ - smallest_order);
  size_t used = 0, index = 0;
  while (index < units) {
    const unsigned order = orders_[index] & ~free_bit;
    if (order < smallest_order || order > top_order_) return false;
    const size_t length = size_t{1} << (order - smallest_order);
    if (index % length) return false;
    if (!(orders_[index] & free_bit))
      used += size_t{1} << order;
    else if (order < top_order_ && orders_[index ^ length] == orders_[index])
      return false;
    index += length;
  }
  return index == units && used == used_;
}

namespace {

constexpr size_t heap_bytes = size_t{1} << BuddyHeap::largest_order;
constexpr size_t orders_bytes = heap_bytes >> BuddyHeap::smallest_order;
constexpr int pool_pages = 128;
constexpr size_t page_bytes = 4096;

struct Installed {
  BuddyHeap heap;
  size_t mapped = 0, pool = 0;
  bool active = false;
};

// Never destroyed: SQLite may free during the destruction of other static objects.
Installed& installed() {
  alignas(Installed) static unsigned char storage[sizeof(Installed)];
  static auto* one = new (storage) Installed;
  return *one;
}

void* heap_allocate(int bytes) { return installed().heap.allocate(static_cast<size_t>(bytes)); }
void heap_release(void* block) { installed().heap.release(block); }
int heap_size(void* block) { return block ? static_cast<int>(installed().heap.size_of(block)) : 0; }
int heap_round_up(int bytes) { return static_cast<int>(BuddyHeap::round_up(static_cast<size_t>(bytes))); }
int heap_begin(void*) { return SQLITE_OK; }
void heap_end(void*) {}

void* heap_resize(void* block, int bytes) {
  if (heap_size(block) == heap_round_up(bytes)) return block;
  void* moved = heap_allocate(bytes);
  if (!moved) return nullptr;
  std::memcpy(moved, block, static_cast<size_t>(std::min(heap_size(block), bytes)));
  heap_release(block);
  return moved;
}

bool install() {
  sqlite3_mem_methods methods{heap_allocate, heap_release, heap_resize, heap_size,
                              heap_round_up, heap_begin,   heap_end,    nullptr};
  // Refused if the host program (a Python interpreter, say) has begun to use SQLite already.
  if (sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) != SQLITE_OK) return false;
  int header = 0;
  sqlite3_config(SQLITE_CONFIG_PCACHE_HDRSZ, &header);
  const size_t slot = (page_bytes + static_cast<size_t>(header) + 15) / 16 * 16;
  const size_t pool = slot * pool_pages;
  const size_t total = heap_bytes + orders_bytes + pool;
  auto* base = static_cast<unsigned char*>(reserve_pages(total));
  if (!base) return false;
  Installed& here = installed();
  here.heap.adopt(base, heap_bytes, base + heap_bytes);
  here.mapped = total;
  here.pool = pool;
  sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
  sqlite3_config(SQLITE_CONFIG_PAGECACHE, base + heap_bytes + orders_bytes, static_cast<int>(slot),
                 pool_pages);
  sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 256, 64);
  here.active = sqlite3_initialize() == SQLITE_OK;
  return here.active;
}

}  // namespace

void install_sqlite_heap() {
  static const bool done = install();
  static_cast<void>(done);
}

SqliteHeapUse sqlite_heap_use() {
  const Installed& here = installed();
  const BuddyHeap::Use use = here.heap.use();
  return {here.active, here.mapped, use.used + here.pool, use.high_water + here.pool, use.refused};
}

}  // namespace plimsoll
