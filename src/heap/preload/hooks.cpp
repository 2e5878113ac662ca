// The malloc family, in front of whichever allocator comes next: libc's or one the program links dynamically.
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "heap/preload/dormant.hpp"
#include "heap/preload/process.hpp"
#include "heap/preload/python.hpp"
#include "heap/preload/sampling.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);
}

namespace plimsoll::heap {
namespace {

void resolve();

// Until the first call has found the next allocator these find it.
void* first_malloc(size_t size);
void* first_calloc(size_t count, size_t size);
void* first_realloc(void* address, size_t size);
void first_free(void* address);
void* first_memalign(size_t alignment, size_t size);
int first_posix_memalign(void** out, size_t alignment, size_t size);
void* first_aligned_alloc(size_t alignment, size_t size);

void* (*real_malloc)(size_t) = first_malloc;
void* (*real_calloc)(size_t, size_t) = first_calloc;
void* (*real_realloc)(void*, size_t) = first_realloc;
void (*real_free)(void*) = first_free;
void* (*real_memalign)(size_t, size_t) = first_memalign;
int (*real_posix_memalign)(void**, size_t, size_t) = first_posix_memalign;
void* (*real_aligned_alloc)(size_t, size_t) = first_aligned_alloc;

void* first_malloc(size_t size) { return resolve(), real_malloc(size); }
void* first_calloc(size_t count, size_t size) { return resolve(), real_calloc(count, size); }
void* first_realloc(void* address, size_t size) { return resolve(), real_realloc(address, size); }
void first_free(void* address) { resolve(), real_free(address); }
void* first_memalign(size_t alignment, size_t size) { return resolve(), real_memalign(alignment, size); }
int first_posix_memalign(void** out, size_t alignment, size_t size) {
  return resolve(), real_posix_memalign(out, alignment, size);
}
void* first_aligned_alloc(size_t alignment, size_t size) {
  return resolve(), real_aligned_alloc(alignment, size);
}

template <typename Function>
void find_next(Function*& function, const char* name) {
  if (void* found = dlsym(RTLD_NEXT, name)) function = reinterpret_cast<Function*>(found);
}

void resolve() {
  // Should the loader itself allocate while it searches, it is served by libc.
  real_malloc = __libc_malloc;
  real_calloc = __libc_calloc;
  real_realloc = __libc_realloc;
  real_free = __libc_free;
  real_memalign = real_aligned_alloc = __libc_memalign;
  read_settings();
  find_next(real_calloc, "calloc");
  find_next(real_realloc, "realloc");
  find_next(real_free, "free");
  find_next(real_memalign, "memalign");
  find_next(real_posix_memalign, "posix_memalign");
  find_next(real_aligned_alloc, "aligned_alloc");
  find_next(real_malloc, "malloc");
  remember_allocator(reinterpret_cast<void*>(real_malloc));
}

__attribute__((constructor)) void begin() {
  if (real_malloc == first_malloc) resolve();
  if (starts_dormant() && wipe_on_fork()) begin_dormant();
  if (profiling_wanted() || dormant()) start_python();
}

__attribute__((noinline)) void* noted(void* address, size_t size) {
  note_allocation(address, size, Domain::malloc);
  return address;
}

// A block that is sampled moves: its note goes first, since its address may be another thread's a moment later.
__attribute__((noinline, cold)) void* move_sampled(void* address, size_t size) {
  const size_t before = take_note(address);
  void* moved = real_realloc(address, size);
  if (moved == nullptr && size != 0 && before != 0) note_allocation(address, before, Domain::malloc);
  if (moved != nullptr && count_bytes(size)) note_allocation(moved, size, Domain::malloc);
  return moved;
}

}  // namespace
}  // namespace plimsoll::heap

using namespace plimsoll::heap;

EXPORT void* malloc(size_t size) {
  if (count_bytes(size)) return noted(real_malloc(size), size);
  return real_malloc(size);
}

EXPORT void free(void* address) {
  if (maybe_sampled(address)) note_free(address);
  real_free(address);
}

EXPORT void* calloc(size_t count, size_t size) {
  size_t bytes;
  if (!__builtin_mul_overflow(count, size, &bytes) && count_bytes(bytes))
    return noted(real_calloc(count, size), bytes);
  return real_calloc(count, size);
}

EXPORT void* realloc(void* address, size_t size) {
  if (address != nullptr && maybe_sampled(address)) return move_sampled(address, size);
  if (count_bytes(size)) return noted(real_realloc(address, size), size);
  return real_realloc(address, size);
}

EXPORT void* reallocarray(void* address, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(address, bytes);
}

EXPORT int posix_memalign(void** out, size_t alignment, size_t size) {
  const bool hit = count_bytes(size);
  const int error = real_posix_memalign(out, alignment, size);
  if (hit && error == 0) note_allocation(*out, size, Domain::malloc);
  return error;
}

EXPORT void* memalign(size_t alignment, size_t size) {
  if (count_bytes(size)) return noted(real_memalign(alignment, size), size);
  return real_memalign(alignment, size);
}

EXPORT void* aligned_alloc(size_t alignment, size_t size) {
  if (count_bytes(size)) return noted(real_aligned_alloc(alignment, size), size);
  return real_aligned_alloc(alignment, size);
}

EXPORT void* valloc(size_t size) { return memalign(4096, size); }
EXPORT void* pvalloc(size_t size) { return memalign(4096, (size + 4095) & ~size_t(4095)); }
