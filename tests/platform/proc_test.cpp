#include "platform/proc.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "platform/fake_proc.hpp"

namespace plimsoll::proc {

const char* const fields =
    " S 42 43 44 0 -1 4194304 101 0 7 0 250 50 0 0 20 0 9 0 77859 3133440 387 18446744073709551615 1 2\n";

TEST(ProcParse, StatWithAnyName) {
  for (std::string name : {"cat", "a b", ") R 1 1 1 (", "((", "))", "new\nline", "\x1b[31mred", ""}) {
    auto stat = parse_stat("8114 (" + name + ")" + fields);
    ASSERT_TRUE(stat) << name;
    EXPECT_EQ(stat->name, name);
    EXPECT_EQ(stat->id, (ProcessId{8114, 77859}));
    EXPECT_EQ(stat->parent, 42);
    EXPECT_EQ(stat->session, 44);
    EXPECT_EQ(stat->faults, 108u);
    EXPECT_EQ(stat->cpu_ticks, 300u);
    EXPECT_EQ(stat->threads, 9);
    EXPECT_EQ(stat->resident_pages, 387u);
  }
}

TEST(ProcParse, AProcessOnItsWayOutIsKnown) {
  std::string leaving(fields);
  leaving.replace(leaving.find("4194304"), 7, "4194308");
  EXPECT_TRUE(parse_stat("5 (x)" + leaving)->exiting);
  EXPECT_FALSE(parse_stat(std::string("5 (x)") + fields)->exiting);
}

TEST(ProcParse, WhatIsNotAStatIsRefused) {
  for (std::string text : {"", "1", "1 (", "x (a) S 1", "1 (a) S 1 2 3", "1 )a( S 1", "0 (a) S 1"})
    EXPECT_FALSE(parse_stat(text)) << text;
}

RC_GTEST_PROP(ProcParse, AnyNameComesBack, (std::string name)) {
  auto stat = parse_stat("5 (" + name + ")" + fields);
  RC_ASSERT(stat.has_value());
  RC_ASSERT(stat->name == name.substr(0, 15));
}

TEST(ProcParse, SmapsAddsMappingsUp) {
  auto sum = parse_smaps(
      "00400000-00452000 r-xp 00000000 08:02 173521 /usr/bin/dbus\nRss: 8 kB\nPss: 5 kB\nPss_Dirty: 3 "
      "kB\nShared_Clean: 4 kB\n"
      "Private_Clean: 1 kB\nPrivate_Dirty: 3 kB\nSwap: 2 kB\nSwapPss: 1 kB\n"
      "00452000-00453000 rw-p 00000000 00:00 0\nRss: 4 kB\nPss: 4 kB\nPrivate_Dirty: 4 kB\n");
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->rss, 12 * 1024u);
  EXPECT_EQ(sum->pss, 9 * 1024u);
  EXPECT_EQ(sum->private_bytes, 8 * 1024u);
  EXPECT_EQ(sum->shared, 4 * 1024u);
  EXPECT_EQ(sum->swap, 2 * 1024u);
  EXPECT_EQ(sum->swap_pss, 1024u);
  EXPECT_FALSE(parse_smaps(""));
  EXPECT_EQ(parse_smaps("Pss: 99999999999999999999 kB\nPss: 18446744073709551615 kB\nPss: 1 kB\n")->pss,
            UINT64_MAX);
}

TEST(ProcParse, OtherFiles) {
  EXPECT_EQ(parse_statm("765 431 403 5 0 123 0\n")->resident_pages, 431u);
  EXPECT_FALSE(parse_statm("765"));
  Status status =
      parse_status("Name:\tx\nUid:\t1000\t0\nVmRSS:\t 10 kB\nVmSwap:\t 3 kB\nSigIgn:\t0000000000000002\n");
  EXPECT_EQ(status.user, 1000);
  EXPECT_EQ(status.swap, 3072u);
  EXPECT_EQ(status.ignored_signals, 2u);
  EXPECT_EQ(parse_cmdline(std::string_view("a\0\0b c\0", 7)), (std::vector<std::string>{"a", "", "b c"}));
  EXPECT_TRUE(parse_cmdline("").empty());
  auto info = parse_meminfo("MemTotal: 100 kB\nMemFree: 10 kB\nBuffers: 5 kB\nCached: 20 kB\n");
  EXPECT_EQ(info->available, 35 * 1024u);  // an old kernel without MemAvailable
  EXPECT_FALSE(parse_meminfo("nothing"));
  std::vector<std::string> libraries;
  add_mapped_library("7f0-7f1 r-xp 0 08:02 1      /opt/a b/libtorch_cpu.so", libraries);
  add_mapped_library("7f1-7f2 r--p 0 08:02 1      /opt/a b/libtorch_cpu.so", libraries);
  add_mapped_library("7f1-7f2 rw-p 0 00:00 0      [heap]", libraries);
  EXPECT_EQ(libraries, std::vector<std::string>{"libtorch_cpu.so"});
  auto mounts = parse_mountinfo(
      "35 31 0:32 /a\\040b /sys/fs/cgroup/memory rw,relatime shared:5 - cgroup cgroup rw,memory\n");
  ASSERT_EQ(mounts.size(), 1u);
  EXPECT_EQ(mounts[0].root, "/a b");
  EXPECT_EQ(mounts[0].type, "cgroup");
  EXPECT_EQ(mounts[0].options, "rw,relatime,rw,memory");
}

// The sums this project uses against a plain reading of every mapping: equal within a page and the kernel's
// rounding of each shared mapping to whole kilobytes.
namespace {
// Sum over the mappings as smaps lists them, and what the kernel rounded away of it.
struct MappingSum {
  uint64_t pss = 0, rounded = 0;
  bool operator==(const MappingSum&) const = default;
};
MappingSum sum_mappings(int pid) {
  std::ifstream smaps("/proc/" + std::to_string(pid) + "/smaps");
  std::string line;
  MappingSum sum;
  uint64_t mapping_rss = 0;
  while (std::getline(smaps, line)) {
    std::istringstream words(line);
    std::string key;
    uint64_t kilobytes = 0;
    words >> key >> kilobytes;
    if (key == "Rss:") mapping_rss = kilobytes;
    if (key == "Pss:") sum.pss += kilobytes * 1024, sum.rounded += kilobytes != mapping_rss ? 1024 : 0;
  }
  return sum;
}
}  // namespace

TEST(ProcFiles, PssAgreesWithSmapsMappingByMapping) {
  Files files;
  std::vector<int> pids;
  files.list(pids);
  std::string own(8'000'000, 'x');
  size_t compared = 0;
  for (int pid : pids) {
    if (compared == 40 && pid != getpid()) continue;
    // PSS moves when anyone starts or stops sharing a page: only what stood still around our reading is compared.
    for (int attempt = 0; attempt < 20; ++attempt) {
      Smaps sum;
      const MappingSum before = sum_mappings(pid);
      if (before.pss == 0 || files.smaps(pid, sum) != Read::ok) break;
      if (sum_mappings(pid) != before) continue;
      EXPECT_NEAR(double(sum.pss), double(before.pss), double(page_size() + before.rounded)) << pid;
      ++compared;
      break;
    }
  }
  EXPECT_GE(compared, 1u);
}

TEST(ProcFiles, SmapsStandsInWhereThereIsNoRollup) {
  testing::FakeProc fake;
  fake.put({.pid = 7, .smaps = false});
  Files files(fake.roots());
  Smaps sum;
  EXPECT_EQ(files.smaps(7, sum), Read::gone);
  std::string text;
  for (int i = 0; i < 3000; ++i)
    text += "7f0000-7f1000 r--p 00000000 08:02 1 /lib/x.so\nRss: 4 kB\nPss: 2 kB\nVmFlags: rd\n";
  fake.write("proc/7/smaps", text);
  EXPECT_EQ(files.smaps(7, sum), Read::ok);
  EXPECT_EQ(sum.pss, 3000 * 2048u);
  EXPECT_EQ(files.smaps(8, sum), Read::gone);
}

TEST(ProcFiles, CountsDescriptorsAndStandsAbsentOnes) {
  Files files;
  int before = files.descriptors(getpid());
  int extra[2];
  ASSERT_EQ(pipe(extra), 0);
  EXPECT_EQ(files.descriptors(getpid()), before + 2);
  close(extra[0]), close(extra[1]);
  EXPECT_EQ(files.descriptors(999999999), -1);
  EXPECT_FALSE(files.stat(999999999));
}

}  // namespace plimsoll::proc
