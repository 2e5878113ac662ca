// Which part of the stack may be read directly. The stack of a thread is checked once with mincore and remembered; from
// any other stack (a coroutine's) words are read through the kernel, which refuses where we would fault.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "heap/preload/unwind.hpp"

extern "C" void* __libc_stack_end;

namespace plimsoll::heap {
namespace {

constexpr uintptr_t page = 4096;
constexpr uintptr_t largest_stack = 8 << 20;  // further away is not taken for the thread's own stack
__thread uintptr_t known_begin __attribute__((tls_model("initial-exec"))) = 0;
__thread uintptr_t known_end __attribute__((tls_model("initial-exec"))) = 0;

bool all_mapped(uintptr_t begin, uintptr_t end) {
  unsigned char state[256];
  while (begin < end) {
    uintptr_t pages = (end - begin) / page;
    if (pages > sizeof state) pages = sizeof state;
    if (syscall(SYS_mincore, begin, pages * page, state) != 0) return false;
    begin += pages * page;
  }
  return true;
}

}  // namespace

StackReader::StackReader(uintptr_t from) : begin_(from), end_(from) {
  if (from >= known_begin && from < known_end) {
    end_ = known_end;
    return;
  }
  // glibc puts a thread's control block above its stack; the first thread's stack ends where the loader says.
  uintptr_t end = reinterpret_cast<uintptr_t>(pthread_self());
  const auto first = reinterpret_cast<uintptr_t>(__libc_stack_end);
  if (from < first && first - from < largest_stack) end = first;
  if (from >= end || end - from >= largest_stack) return;
  const uintptr_t begin = from & ~(page - 1);
  if (!all_mapped(begin, known_end == end ? known_begin : end & ~(page - 1))) return;
  known_begin = begin;
  known_end = end_ = end;
}

bool StackReader::word_through_kernel(uintptr_t address, uintptr_t& word) const {
  iovec here = {&word, sizeof word}, there = {reinterpret_cast<void*>(address), sizeof word};
  return syscall(SYS_process_vm_readv, getpid(), &here, 1, &there, 1, 0) == ssize_t(sizeof word);
}

}  // namespace plimsoll::heap
