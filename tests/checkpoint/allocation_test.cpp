// save() takes nothing from the heap: counted by malloc itself, in every thread.
#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "checkpoint/fixture.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PLIMSOLL_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PLIMSOLL_SANITIZED 1
#endif
#endif

#ifndef PLIMSOLL_SANITIZED  // a sanitizer has a malloc of its own

namespace {
std::atomic<bool> counting{false};
std::atomic<int> allocations{0};
void count() {
  if (counting.load(std::memory_order_relaxed)) allocations.fetch_add(1, std::memory_order_relaxed);
}
}  // namespace

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void* malloc(size_t bytes) {
  count();
  return __libc_malloc(bytes);
}
void* calloc(size_t number, size_t bytes) {
  count();
  return __libc_calloc(number, bytes);
}
void* realloc(void* memory, size_t bytes) {
  count();
  return __libc_realloc(memory, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  count();
  return __libc_memalign(alignment, bytes);
}
void* memalign(size_t alignment, size_t bytes) { return aligned_alloc(alignment, bytes); }
int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  *memory = aligned_alloc(alignment, bytes);
  return *memory ? 0 : ENOMEM;
}
}

namespace plimsoll {
namespace {

TEST(Allocation, TheCounterCounts) {
  counting = true;
  allocations = 0;
  delete new std::string(1000, 'x');
  counting = false;
  EXPECT_EQ(allocations, 2);
}

TEST(Allocation, SavingReplacingRemovingAndFailingAllocateNothing) {
  for (bool background : {false, true}) {
    TemporaryFolder run("/dev/shm/");
    Weights weights;
    CheckpointStore store(run.path);
    weights.prepare(store, background);
    std::string state(900, ' ');
    allocations = 0;
    counting = true;
    for (uint64_t step = 1; step <= 8; ++step) store.save(step, state, step == 2);
    store.save(8, state, true);
    store.wait();
    bool failed = store.take_error().has_value();
    set_file_hook([](FileOperation operation, const char*, size_t*) {
      return operation == FileOperation::sync ? EIO : 0;
    });
    store.save(9, state, true);
    store.wait();
    counting = false;
    set_file_hook(nullptr);
    EXPECT_EQ(allocations, 0);
    EXPECT_FALSE(failed);
    EXPECT_TRUE(store.take_error().has_value());
    EXPECT_EQ(steps_in(run.path).size(), 3u);
  }
}

}  // namespace
}  // namespace plimsoll

#endif
