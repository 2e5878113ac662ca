#include "platform/arena.hpp"

#include <cstring>

namespace plimsoll::platform {
namespace {

// Read by malloc itself, so it must need no construction.
constinit thread_local Arena* arena_of_thread = nullptr;

// Before each allocation stands its size.
constexpr size_t prefix = 16;

size_t size_of(const void* p) {
  size_t size;
  std::memcpy(&size, static_cast<const std::byte*>(p) - prefix, sizeof size);
  return size;
}

}  // namespace

Arena::Arena(std::span<uint8_t> bytes)
    : begin_(reinterpret_cast<std::byte*>(bytes.data())),
      next_(begin_),
      end_(begin_ + bytes.size()),
      before_(arena_of_thread) {
  arena_of_thread = this;
}

Arena::~Arena() { arena_of_thread = before_; }

Arena* Arena::current() { return arena_of_thread; }

void* Arena::allocate(size_t bytes, size_t alignment) {
  if (alignment < prefix) alignment = prefix;
  const auto free = size_t(end_ - next_);
  const size_t skip =
      (alignment - reinterpret_cast<uintptr_t>(next_ + prefix) % alignment) % alignment + prefix;
  if (skip > free || bytes > free - skip) return nullptr;
  std::byte* place = next_ + skip;
  std::memcpy(place - prefix, &bytes, sizeof bytes);
  next_ = place + bytes;
  return place;
}

void* Arena::reallocate(void* old, size_t bytes) {
  if (!old) return allocate(bytes);
  void* place = allocate(bytes);
  const size_t had = size_of(old);
  if (place) std::memcpy(place, old, bytes < had ? bytes : had);
  return place;
}

void Arena::free(void* p) {
  std::byte* place = static_cast<std::byte*>(p);
  if (place + size_of(p) == next_) next_ = place - prefix;
}

}  // namespace plimsoll::platform
