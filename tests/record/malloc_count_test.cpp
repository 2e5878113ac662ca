#include "record/malloc_count.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <memory>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PLIMSOLL_OWN_MALLOC 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PLIMSOLL_OWN_MALLOC 0
#endif
#endif
#ifndef PLIMSOLL_OWN_MALLOC
#define PLIMSOLL_OWN_MALLOC 1
#endif

namespace plimsoll::test {
const bool can_count_mallocs = PLIMSOLL_OWN_MALLOC;
std::atomic<bool> counting{false};
std::atomic<uint64_t> mallocs{0};
}  // namespace plimsoll::test

#if PLIMSOLL_OWN_MALLOC
namespace {
void count() {
  if (plimsoll::test::counting.load(std::memory_order_relaxed)) ++plimsoll::test::mallocs;
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
void* calloc(size_t n, size_t bytes) {
  count();
  return __libc_calloc(n, bytes);
}
void* realloc(void* block, size_t bytes) {
  count();
  return __libc_realloc(block, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  count();
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** block, size_t alignment, size_t bytes) {
  count();
  *block = __libc_memalign(alignment, bytes);
  return *block ? 0 : ENOMEM;
}
}
#endif

namespace plimsoll {

TEST(MallocCount, SeesEveryKindOfAllocation) {
  if (!test::can_count_mallocs) GTEST_SKIP() << "a sanitizer brings its own malloc";
  test::mallocs = 0;
  test::counting = true;
  auto one = std::make_unique<int>(1);
  void* volatile two = std::malloc(10);
  two = std::realloc(two, 5000);
  void* volatile three = std::calloc(2, 10);
  test::counting = false;
  EXPECT_EQ(test::mallocs, 4u);
  std::free(two);
  std::free(three);
}

}  // namespace plimsoll
