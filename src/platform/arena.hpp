// While an Arena lives, what its thread allocates comes out of the given bytes, whoever asks: libraries that decode pictures
// call malloc and cannot be told otherwise. Such allocations are not counted, for their memory is planned. They must be freed
// before the arena ends. Beyond the bytes malloc answers that there is no memory. Without the hook of
// counting/malloc.cpp an arena does nothing.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace plimsoll::platform {

class Arena {
 public:
  explicit Arena(std::span<uint8_t> bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // For the hook: the arena of this thread, or null.
  static Arena* current();
  bool owns(const void* p) const { return p >= begin_ && p < end_; }
  void* allocate(size_t bytes, size_t alignment = 16);
  void* reallocate(void* old, size_t bytes);
  // Bytes come back where nothing was allocated later.
  void free(void* p);

 private:
  std::byte *begin_, *next_, *end_;
  Arena* before_;
};

}  // namespace plimsoll::platform
