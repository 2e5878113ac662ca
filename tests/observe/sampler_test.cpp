#include "observe/sampler.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "platform/allocations.hpp"
#include "platform/fake_proc.hpp"

namespace plimsoll::observe {

using testing::FakeProc;
using testing::FakeProcess;

TEST(Sampler, ReadsAndThenCarriesOn) {
  FakeProc fake;
  FakeProcess p{.pid = 10};
  fake.put(p);
  proc::Files files(fake.roots());
  Sampler sampler(files, ProcessTree(files, 10, false), {.gpu = false});
  const Snapshot& now = sampler.sample(0);
  ASSERT_EQ(now.processes.size(), 1u);
  EXPECT_TRUE(now.processes[0].pss_measured);
  EXPECT_EQ(now.bytes, 3000u * 1024);
  EXPECT_EQ(now.processes[0].command, "python train.py");
  EXPECT_EQ(now.system.available, 8000000ull * 1024);
  // No credit is left: 100 more pages of its own, none of them read, are added to the last reading.
  Sampler poor(files, ProcessTree(files, 10, false), {.pss_share = 0, .first_credit = 1e-9, .gpu = false});
  EXPECT_TRUE(poor.sample(0).pss_measured);
  p.resident_pages += 100;
  fake.put(p);
  const Snapshot& later = poor.sample(1);
  EXPECT_FALSE(later.pss_measured);
  EXPECT_EQ(later.bytes, 3000u * 1024 + 100 * proc::page_size());
  EXPECT_EQ(poor.sample_exactly(2).bytes, 3000u * 1024);
}

TEST(Sampler, AFreshForkIsNotCountedTwice) {
  FakeProc fake;
  fake.put({.pid = 10});
  fake.put({.pid = 11, .parent = 10, .resident_pages = 100000, .faults = 7});
  proc::Files files(fake.roots());
  Sampler sampler(files, ProcessTree(files, 10, false), {.pss_share = 0, .first_credit = 0, .gpu = false});
  EXPECT_EQ(sampler.sample(0).processes[1].owned, 7 * proc::page_size());
}

// Processes that share libtorch's pages exit one after the other: more of each page is counted as ours, and nothing
// of it is our doing.
TEST(Sampler, FilePagesOfNeighboursDoNotMoveWhatIsOwned) {
  FakeProc fake;
  FakeProcess p{.pid = 10, .resident_pages = 2000, .shared_pages = 1200, .pss_kb = 4000, .file_kb = 900};
  fake.put(p);
  proc::Files files(fake.roots());
  Sampler sampler(files, ProcessTree(files, 10, false), {.gpu = false});
  const uint64_t before = sampler.sample(0).bytes;
  EXPECT_EQ(before, 3100u * 1024);
  for (int neighbours = 4; neighbours >= 0; --neighbours) {
    p.file_kb += 700, p.pss_kb += 700;
    fake.put(p);
    const Snapshot& now = sampler.sample_exactly(10. - neighbours);
    EXPECT_EQ(now.bytes, before);
    EXPECT_EQ(now.file, uint64_t(p.file_kb) * 1024);
  }
}

// Shared memory of the program's own is owned; between readings it goes on in the proportion last seen.
TEST(Sampler, SharedMemoryIsOwned) {
  FakeProc fake;
  FakeProcess p{.pid = 10, .resident_pages = 2000, .shared_pages = 1000, .pss_kb = 8000, .file_kb = 1000};
  fake.put(p);
  proc::Files files(fake.roots());
  Sampler sampler(files, ProcessTree(files, 10, false), {.pss_share = 0, .first_credit = 1e-9, .gpu = false});
  EXPECT_EQ(sampler.sample(0).bytes, 7000u * 1024);  // 4000 kB anonymous and 3000 kB shared memory
  p.resident_pages += 400, p.shared_pages += 400;
  fake.put(p);
  EXPECT_NEAR(double(sampler.sample(1).bytes), (7000 + .75 * 1600) * 1024, 4096);
}

TEST(Sampler, SwappedPagesStayTheProcesss) {
  FakeProc fake;
  fake.put({.pid = 10, .swap_kb = 500});
  proc::Files files(fake.roots());
  Sampler sampler(files, ProcessTree(files, 10, false), {.gpu = false});
  EXPECT_EQ(sampler.sample(0).bytes, 3500u * 1024);
}

TEST(Sampler, ZombiesHoldNothingAndStoppedOnesEverything) {
  FakeProc fake;
  fake.put({.pid = 10, .state = 'T'});
  fake.put({.pid = 11, .parent = 10, .state = 'Z'});
  proc::Files files(fake.roots());
  Sampler sampler(files, ProcessTree(files, 10, false), {.gpu = false});
  const Snapshot& now = sampler.sample(0);
  EXPECT_TRUE(now.processes[0].stopped());
  EXPECT_EQ(now.processes[1].footprint(), 0u);
  EXPECT_EQ(now.bytes, 3000u * 1024);
}

TEST(Sampler, SaysWhoEnded) {
  FakeProc fake;
  fake.put({.pid = 10});
  fake.put({.pid = 11, .parent = 10});
  proc::Files files(fake.roots());
  Sampler sampler(files, ProcessTree(files, 10, false), {.gpu = false});
  sampler.sample(0);
  fake.remove(11);
  EXPECT_EQ(sampler.sample(1).ended, (std::vector<proc::ProcessId>{{11, 100}}));
  fake.remove(10);
  const Snapshot& empty = sampler.sample(2);
  EXPECT_EQ(empty.bytes, 0u);
  EXPECT_EQ(empty.ended.size(), 1u);
}

TEST(Sampler, OddFilesAreSurvived) {
  FakeProc fake;
  fake.put({.pid = 10});
  fake.write("proc/10/statm", "nonsense");
  fake.write("proc/10/smaps_rollup", "");
  fake.write("proc/meminfo", "");
  proc::Files files(fake.roots());
  Sampler sampler(files, ProcessTree(files, 10, false), {.gpu = false});
  EXPECT_EQ(sampler.sample(0).processes[0].rss, 1000 * proc::page_size());
}

TEST(Sampler, AnOverdrawnBudgetReadsNobodyElse) {
  FakeProc fake;
  fake.put({.pid = 10});
  for (int pid = 11; pid < 40; ++pid) fake.put({.pid = pid, .parent = 10});
  proc::Files files(fake.roots());
  Sampler sampler(files, ProcessTree(files, 10, false), {.pss_share = 0, .first_credit = 1e-9, .gpu = false});
  auto measured = [](const Snapshot& now) {
    return std::count_if(now.processes.begin(), now.processes.end(), [](auto& p) { return p.pss_measured; });
  };
  EXPECT_EQ(measured(sampler.sample(0)), 1);
  EXPECT_EQ(measured(sampler.sample(1)), 0);
  EXPECT_EQ(measured(sampler.sample_exactly(2)), 30);
}

// Readings of a real process stay within their share of time, whatever is asked.
TEST(Sampler, SpendsNoMoreThanItsShare) {
  void* big = mmap(nullptr, 256 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(big, 256 << 20, MADV_NOHUGEPAGE);
  std::memset(big, 1, 256 << 20);
  pid_t child = fork();
  if (child == 0) {
    for (;;) std::memset(big, 2, 256 << 20), usleep(1000);
  }
  proc::Files files;
  Sampler sampler(files, ProcessTree(files, child, false),
                  {.pss_share = 0.005, .first_credit = 0.001, .gpu = false});
  int measured = 0;
  for (int i = 0; i < 100; ++i)
    measured += sampler.sample(i * 0.02).pss_measured;  // two seconds, as the sampler is told
  EXPECT_GE(measured, 1);
  EXPECT_LE(measured, 30);  // 11 ms of credit; one reading costs between one and several milliseconds
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  munmap(big, 256 << 20);
}

// Shared pages count once: a parent and five children over one block are one block.
TEST(Sampler, SharedPagesCountOnce) {
  if (!allocations_counted()) GTEST_SKIP() << "a sanitizer has memory of its own";
  constexpr size_t size = 64 << 20;
  pid_t root = fork();
  if (root == 0) {
    void* block = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memset(block, 1, size);
    for (int i = 0; i < 5; ++i)
      if (fork() == 0) break;
    for (;;) pause();
  }
  proc::Files files;
  Sampler sampler(files, ProcessTree(files, root, false), {.gpu = false});
  const Snapshot* now = nullptr;
  for (int i = 0; i < 300; ++i) {
    now = &sampler.sample_exactly(i * 0.01);
    if (now->processes.size() == 6 && now->rss > 6 * size) break;
    usleep(10'000);
  }
  usleep(200'000);  // the last one forked has a few pages of its own still to touch
  now = &sampler.sample_exactly(9);
  ASSERT_EQ(now->processes.size(), 6u);
  EXPECT_GT(now->rss, 6 * size);
  if (allocations_counted()) {  // a sanitizer has memory of its own
    EXPECT_LT(now->bytes, size + (24u << 20));
  }
  EXPECT_GT(now->bytes, size);
  // And the same by an independent sum over smaps. Programs that map the same files come and go beside the test, and with them
  // a part of what these hold: both are read again until they agree.
  const auto by_smaps = [&] {
    uint64_t sum = 0;
    for (const Process& process : now->processes) {
      std::ifstream smaps("/proc/" + std::to_string(process.id.pid) + "/smaps");
      for (std::string line; std::getline(smaps, line);)
        if (line.starts_with("Pss:")) sum += std::stoull(line.substr(4)) * 1024;
    }
    return double(sum);
  };
  const double rounding = 6.0 * double(proc::page_size()) + 6 * 1024 * 60;
  const auto seen = [&] { return double(now->bytes + now->file); };
  double sum = by_smaps();
  for (int i = 0; i < 20 && std::abs(seen() - sum) > rounding; ++i)
    now = &sampler.sample_exactly(10 + i), sum = by_smaps();
  EXPECT_NEAR(seen(), sum, rounding);
  for (const Process& process : now->processes) kill(process.id.pid, SIGKILL);
  waitpid(root, nullptr, 0);
}

// Another user's smaps may not be read: RSS is used and said to be.
TEST(Sampler, DeniedSmapsFallBackToAnonymousMemory) {
  if (getuid() != 0) GTEST_SKIP() << "needs root to become another user";
  pid_t target = fork();
  if (target == 0) {
    for (;;) pause();
  }
  pid_t watcher = fork();
  if (watcher == 0) {
    if (setgid(65534) != 0 || setuid(65534) != 0) _exit(1);
    proc::Files files;
    Sampler sampler(files, ProcessTree(files, target, false), {.gpu = false});
    const Snapshot& now = sampler.sample(0);
    bool right = now.denied == 1 && now.processes.size() == 1 && now.bytes > 0 &&
                 now.bytes + now.processes[0].file == now.processes[0].rss &&
                 now.processes[0].descriptors == -1;
    _exit(right ? 0 : 2);
  }
  int status = 0;
  waitpid(watcher, &status, 0);
  kill(target, SIGKILL);
  waitpid(target, nullptr, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace plimsoll::observe
