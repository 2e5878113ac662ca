#include "observe/held_files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>

#include "observe/sampler.hpp"
#include "platform/allocations.hpp"

namespace plimsoll::observe {
namespace {

constexpr size_t size = 16 << 20;

void fill(int file) {
  const std::string text(size, 'x');
  ASSERT_EQ(write(file, text.data(), size), ssize_t(size));
}

// This process as the guard looks at it.
struct Fixture {
  proc::Files files;
  HeldFiles held{files};
  std::vector<Process> processes{1};
  Fixture() {
    processes[0].id = files.stat(getpid())->id;
    processes[0].state = 'S';
  }
  uint64_t measure(bool may_read = true) {
    std::string text;
    files.read(getpid(), "status", text);
    processes[0].shmem = proc::parse_status(text).shmem;
    held.measure(processes, [=](const Process&) { return may_read; });
    return processes[0].held;
  }
};

TEST(HeldFiles, WhatIsWrittenAndNotMappedIsCountedOnce) {
  Fixture fixture;
  const uint64_t before = fixture.measure();
  const int file = memfd_create("test", MFD_CLOEXEC);
  fill(file);
  EXPECT_EQ(fixture.measure(), before + size);
  const uint64_t allocated = allocations();
  fixture.measure();
  EXPECT_LE(allocations() - allocated, 2u) << "the test's own string";
  // Mapped and touched it is in PSS, and no longer here; the same where it may not be looked at.
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  std::memset(memory, 1, size / 2);
  EXPECT_NEAR(double(fixture.measure()), double(before + size / 2), 1e6);
  EXPECT_NEAR(double(fixture.measure(false)), double(before + size / 2), 1e6);
  munmap(memory, size);
  close(file);
  EXPECT_EQ(fixture.measure(), before);
}

TEST(HeldFiles, AFileOnTmpfsCountsUntilItIsRemoved) {
  const std::string path = "/dev/shm/plimsoll-test-" + std::to_string(getpid());
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0 || !MemoryFiles::at(path.c_str())) GTEST_SKIP() << "no tmpfs at /dev/shm";
  Fixture fixture;
  fill(file);
  EXPECT_EQ(fixture.measure(), size);
  close(file);
  EXPECT_EQ(fixture.measure(), size) << "closed, and still there";
  // Who only reads it does not hold it.
  const int reader = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(Fixture().measure(), 0u);
  close(reader);
  std::filesystem::remove(path);
  EXPECT_EQ(fixture.measure(), 0u);
}

// Without time for PSS after the first sample, what follows is an estimate: shared memory must be in it whole, though
// the libraries that the last reading saw are shared with everybody.
TEST(Sampler, SharedMemoryCountsAsItGrows) {
  if (!allocations_counted()) GTEST_SKIP() << "a sanitizer has memory of its own";
  int orders[2], answers[2];
  ASSERT_EQ(pipe(orders), 0);
  ASSERT_EQ(pipe(answers), 0);
  const pid_t child = fork();
  char byte = 0;
  if (child == 0) {
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (read(orders[0], &byte, 1) == 1) std::memset(memory, 1, size);
    if (write(answers[1], &byte, 1) == 1) pause();
    _exit(0);
  }
  proc::Files files;
  Sampler sampler(files, ProcessTree(files, child, false),
                  {.pss_share = 0, .system = false, .shared = true, .arguments = false});
  const uint64_t before = sampler.sample(0).bytes;
  for (double time = 0.1; time < 1; time += 0.1) sampler.sample(time);  // spends what it had at the start
  ASSERT_EQ(write(orders[1], &byte, 1), 1);
  ASSERT_EQ(read(answers[0], &byte, 1), 1);
  EXPECT_NEAR(double(sampler.sample(1).bytes), double(before + size), 2e6);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace plimsoll::observe
