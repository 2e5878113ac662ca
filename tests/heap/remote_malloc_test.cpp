// The figures of another process's malloc against what it says of itself.
#include "heap/remote_malloc.hpp"

#include <gtest/gtest.h>
#include <malloc.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "platform/allocations.hpp"

namespace plimsoll::heap {
namespace {

struct Said {
  uint64_t system, free;
};

// Leaves holes of many sizes in the main arena and in one of a thread's own, says what mallinfo2 counts, and waits.
[[noreturn]] void work(int out) {
  const auto holes = [] {
    std::vector<void*> blocks;
    for (size_t i = 0; i < 4000; ++i) blocks.push_back(std::malloc(24 + i * 7919 % 9000));
    for (size_t i = 0; i < blocks.size(); i += 2) std::free(blocks[i]);
  };
  holes();
  std::thread(holes).join();
  const struct mallinfo2 info = mallinfo2();
  const Said said{info.arena, info.fordblks};
  if (write(out, &said, sizeof said) != sizeof said) _exit(1);
  for (;;) pause();
}

TEST(RemoteMalloc, SaysWhatTheProcessItselfWouldSay) {
  if (!allocations_counted()) GTEST_SKIP() << "a sanitizer owns malloc";
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t pid = fork();
  if (pid == 0) work(ends[1]);
  Said said{};
  ASSERT_EQ(read(ends[0], &said, sizeof said), ssize_t(sizeof said));
  const proc::Files files;
  const RemoteMalloc remote(files, pid);
  const auto figures = remote.found() ? remote.read() : std::nullopt;
  const auto system = remote.found() ? remote.system_bytes() : std::nullopt;
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  close(ends[0]), close(ends[1]);
  ASSERT_TRUE(figures);
  EXPECT_TRUE(figures->complete);
  EXPECT_GE(figures->arenas, 2u);
  EXPECT_GT(said.free, 10u << 20);
  EXPECT_EQ(figures->system, said.system);
  EXPECT_EQ(system, said.system);
  EXPECT_EQ(figures->free, said.free);
}

TEST(RemoteMalloc, FindsNothingWhereThereIsNoProcess) {
  const proc::Files files;
  EXPECT_FALSE(RemoteMalloc(files, 1 << 30).found());
}

}  // namespace
}  // namespace plimsoll::heap
