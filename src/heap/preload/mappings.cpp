// Anonymous memory a program maps by itself. The allocator's own mappings are not its doing and pass unseen.
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "heap/preload/process.hpp"
#include "heap/preload/sampling.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

using namespace plimsoll::heap;

namespace {

void* map(void* address, size_t size, int protection, int flags, int descriptor, off_t offset, void* caller) {
  void* got =
      reinterpret_cast<void*>(syscall(SYS_mmap, address, size, protection, flags, descriptor, offset));
  if (got == MAP_FAILED) return got;
  if (flags & MAP_FIXED) note_unmap(got, size);
  const bool counts = (flags & MAP_ANONYMOUS) && (protection & PROT_WRITE) && !(flags & MAP_STACK);
  if (counts && !is_allocator(caller) && count_bytes(size)) note_allocation(got, size, Domain::mapping);
  return got;
}

}  // namespace

EXPORT void* mmap(void* address, size_t size, int protection, int flags, int descriptor, off_t offset) {
  return map(address, size, protection, flags, descriptor, offset, __builtin_return_address(0));
}
EXPORT void* mmap64(void* address, size_t size, int protection, int flags, int descriptor, off_t offset) {
  return map(address, size, protection, flags, descriptor, offset, __builtin_return_address(0));
}

EXPORT int munmap(void* address, size_t size) {
  // Before the kernel does it: a moment later another thread may have mapped the same place.
  note_unmap(address, size);
  return int(syscall(SYS_munmap, address, size));
}

EXPORT void* mremap(void* address, size_t before, size_t size, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  void* wanted = flags & MREMAP_FIXED ? va_arg(rest, void*) : nullptr;
  va_end(rest);
  const size_t noted = maybe_sampled(address) ? take_note(address) : 0;
  void* got = reinterpret_cast<void*>(syscall(SYS_mremap, address, before, size, flags, wanted));
  if (got == MAP_FAILED) {
    const int error = errno;
    if (noted != 0) note_allocation(address, noted, Domain::mapping);
    errno = error;
  } else if (noted != 0) {
    // It was sampled and stays so: a mapping that grows step by step is not to slip through.
    note_allocation(got, size, Domain::mapping);
  }
  return got;
}
