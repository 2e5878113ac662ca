// The malloc family of a program that wants its allocations counted. Part of the plimsoll program and of the tests,
// never of the library: a library must not replace the malloc of whoever links it.
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "platform/allocations.hpp"
#include "platform/arena.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PLIMSOLL_COUNT_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define PLIMSOLL_COUNT_ALLOCATIONS 0
#endif
#endif
#ifndef PLIMSOLL_COUNT_ALLOCATIONS
#define PLIMSOLL_COUNT_ALLOCATIONS 1
#endif

#if PLIMSOLL_COUNT_ALLOCATIONS

namespace {

// The allocator behind ours. Resolved at the first call, which the dynamic loader or libstdc++ makes before
// there is a second thread.
struct Next {
  void* (*malloc)(size_t);
  void* (*calloc)(size_t, size_t);
  void* (*realloc)(void*, size_t);
  void* (*memalign)(size_t, size_t);
  void (*free)(void*);
};
constinit Next next{};
constinit std::atomic<bool> resolved{false};
constinit bool resolving = false;

// Serves what dlsym itself may ask for while it looks for the real functions; never given back.
alignas(16) constinit char bootstrap[8192]{};
constinit size_t bootstrap_used = 0;

bool from_bootstrap(const void* p) { return p >= bootstrap && p < bootstrap + sizeof bootstrap; }

void* bootstrap_allocate(size_t size) {
  size_t rounded = (size + 15) & ~size_t{15};
  if (size > sizeof bootstrap || rounded > sizeof bootstrap - bootstrap_used) return nullptr;
  void* p = bootstrap + bootstrap_used;
  bootstrap_used += rounded;
  return p;
}

template <typename F>
void find(F& function, const char* name) {
  function = reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
  if (function) return;
  const char message[] = "plimsoll: no malloc behind the counting one\n";
  [[maybe_unused]] auto written = write(2, message, sizeof message - 1);
  _exit(1);
}

// True once the real functions are known; false only while they are being looked for.
bool ready() {
  if (__builtin_expect(resolved.load(std::memory_order_acquire), 1)) return true;
  if (resolving) return false;
  resolving = true;
  find(next.malloc, "malloc");
  find(next.calloc, "calloc");
  find(next.realloc, "realloc");
  find(next.memalign, "memalign");
  find(next.free, "free");
  plimsoll::allocation_counts.hooked.store(true, std::memory_order_relaxed);
  resolved.store(true, std::memory_order_release);
  return true;
}

void count(size_t size) {
  plimsoll::allocation_counts.calls.fetch_add(1, std::memory_order_relaxed);
  plimsoll::allocation_counts.bytes.fetch_add(size, std::memory_order_relaxed);
}

void* noting(void* memory, size_t size) {
  if (!memory && size) plimsoll::allocation_counts.refused.store(true, std::memory_order_relaxed);
  return memory;
}

using plimsoll::platform::Arena;

bool power_of_two(size_t n) { return n && !(n & (n - 1)); }

}  // namespace

extern "C" {

void* malloc(size_t size) noexcept {
  if (!ready()) return bootstrap_allocate(size);
  if (Arena* arena = Arena::current()) return arena->allocate(size);
  count(size);
  return noting(next.malloc(size), size);
}

void* calloc(size_t n, size_t size) noexcept {
  size_t total;
  if (!ready()) return __builtin_mul_overflow(n, size, &total) ? nullptr : bootstrap_allocate(total);
  if (Arena* arena = Arena::current()) {
    void* p = __builtin_mul_overflow(n, size, &total) ? nullptr : arena->allocate(total);
    return p ? memset(p, 0, total) : nullptr;
  }
  count(n * size);
  return noting(next.calloc(n, size), n * size);
}

void* realloc(void* old, size_t size) noexcept {
  if (!ready()) return nullptr;
  if (Arena* arena = Arena::current(); arena && (!old || arena->owns(old)))
    return arena->reallocate(old, size);
  count(size);
  if (!from_bootstrap(old)) return noting(next.realloc(old, size), size);
  void* moved = next.malloc(size);
  size_t room = static_cast<size_t>(bootstrap + sizeof bootstrap - static_cast<char*>(old));
  if (moved) memcpy(moved, old, size < room ? size : room);
  return moved;
}

void* reallocarray(void* old, size_t n, size_t size) noexcept {
  size_t total;
  if (__builtin_mul_overflow(n, size, &total)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(old, total);
}

void* memalign(size_t alignment, size_t size) noexcept {
  if (!ready()) return nullptr;
  if (Arena* arena = Arena::current()) return arena->allocate(size, alignment);
  count(size);
  return noting(next.memalign(alignment, size), size);
}

int posix_memalign(void** out, size_t alignment, size_t size) noexcept {
  if (alignment % sizeof(void*) || !power_of_two(alignment)) return EINVAL;
  int saved = errno;
  void* p = memalign(alignment, size);
  errno = saved;
  if (!p) return ENOMEM;
  *out = p;
  return 0;
}

void* aligned_alloc(size_t alignment, size_t size) noexcept {
  if (!power_of_two(alignment)) {
    errno = EINVAL;
    return nullptr;
  }
  return memalign(alignment, size);
}

void* valloc(size_t size) noexcept { return memalign(static_cast<size_t>(sysconf(_SC_PAGESIZE)), size); }

void* pvalloc(size_t size) noexcept {
  auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return memalign(page, (size + page - 1) / page * page);
}

void free(void* p) noexcept {
  if (!p || from_bootstrap(p) || !ready()) return;
  if (Arena* arena = Arena::current(); arena && arena->owns(p)) return arena->free(p);
  plimsoll::allocation_counts.frees.fetch_add(1, std::memory_order_relaxed);
  next.free(p);
}

}  // extern "C"

#endif
