#include "platform/allocations.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

namespace plimsoll {
namespace {

// Hides a value from the optimizer, which may otherwise drop a pair of malloc and free.
template <typename T>
T* keep(T* p) {
  asm volatile("" : "+r"(p) : : "memory");
  return p;
}

template <typename F>
uint64_t counted(F&& work) {
  uint64_t before = allocations();
  work();
  return allocations() - before;
}

class Allocations : public testing::Test {
  void SetUp() override {
    if (!allocations_counted()) GTEST_SKIP() << "a sanitizer owns malloc";
  }
};

TEST_F(Allocations, EveryDoorIsCounted) {
  EXPECT_EQ(counted([] { free(keep(malloc(10))); }), 1u);
  EXPECT_EQ(counted([] { free(keep(calloc(3, 10))); }), 1u);
  EXPECT_EQ(counted([] { free(keep(aligned_alloc(64, 128))); }), 1u);
  EXPECT_EQ(counted([] { free(keep(memalign(64, 128))); }), 1u);
  EXPECT_EQ(counted([] { free(keep(valloc(128))); }), 1u);
  EXPECT_EQ(counted([] { free(keep(realloc(keep(malloc(10)), 100000))); }), 2u);
  EXPECT_EQ(counted([] { free(keep(reallocarray(nullptr, 3, 5))); }), 1u);
  EXPECT_EQ(counted([] {
              void* p = nullptr;
              if (posix_memalign(&p, 4096, 100) == 0) free(keep(p));
            }),
            1u);
  EXPECT_EQ(counted([] { delete keep(new int(3)); }), 1u);
  EXPECT_EQ(
      counted([] { operator delete (keep(operator new (100, std::align_val_t{64})), std::align_val_t{64}); }),
      1u);
}

TEST_F(Allocations, LibcsOwnAllocationsAreCounted) {
  EXPECT_GE(counted([] { free(keep(strdup("inside libc"))); }), 1u);
}

TEST_F(Allocations, ALoadedLibrarysAllocationsAreCounted) {
  void* library = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!library) GTEST_SKIP() << "no library to load";
  auto make = reinterpret_cast<void* (*)(int)>(dlsym(library, "sqlite3_malloc"));
  auto drop = reinterpret_cast<void (*)(void*)>(dlsym(library, "sqlite3_free"));
  ASSERT_TRUE(make && drop);
  drop(make(10));
  EXPECT_GE(counted([&] { drop(keep(make(100))); }), 1u);
  dlclose(library);
}

// A library loaded later binds to whatever the global scope holds under these names.
TEST_F(Allocations, LibrariesLoadedLaterFindEveryDoor) {
  for (const char* name : {"malloc", "calloc", "realloc", "reallocarray", "memalign", "posix_memalign",
                           "aligned_alloc", "valloc", "pvalloc", "free"})
    EXPECT_NE(dlsym(RTLD_DEFAULT, name), dlsym(RTLD_NEXT, name)) << name;
}

TEST_F(Allocations, OtherThreadsAreCountedAndNoneIsLost) {
  uint64_t count = counted([] {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([] {
        for (int i = 0; i < 10000; ++i) free(keep(malloc(16)));
      });
    for (auto& thread : threads) thread.join();
  });
  EXPECT_GE(count, 40000u);
  EXPECT_LT(count, 40100u);  // the threads' own stacks and states
}

TEST_F(Allocations, ALoopWithoutAllocationCountsNone) {
  volatile double sum = 0;
  uint64_t bytes = allocated_bytes();
  EXPECT_EQ(counted([&] {
              for (int i = 0; i < 1000000; ++i) sum = sum + i;
            }),
            0u);
  EXPECT_EQ(allocated_bytes(), bytes);
}

TEST_F(Allocations, BytesAndFreesAreCounted) {
  uint64_t bytes = allocated_bytes(), frees = deallocations();
  free(keep(malloc(1000)));
  free(keep(static_cast<void*>(nullptr)));
  EXPECT_EQ(allocated_bytes() - bytes, 1000u);
  EXPECT_EQ(deallocations() - frees, 1u);
}

TEST_F(Allocations, WhatIsImpossibleIsRefusedAsBefore) {
  void* p = nullptr;
  EXPECT_EQ(posix_memalign(&p, 3, 100), EINVAL);
  volatile size_t n = SIZE_MAX / 2;  // volatile: the compiler must not see the overflow
  errno = 0;
  EXPECT_EQ(keep(reallocarray(nullptr, n, 4)), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(keep(calloc(n, 4)), nullptr);
}

}  // namespace
}  // namespace plimsoll
