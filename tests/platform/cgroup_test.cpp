#include "platform/cgroup.hpp"

#include <gtest/gtest.h>

#include "platform/fake_proc.hpp"
#include "platform/gpu.hpp"
#include "platform/pressure.hpp"

namespace plimsoll::cgroup {

const char* const v1_mount = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
const char* const v2_mount = "35 31 0:32 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
const char* const v1_unlimited = "9223372036854771712\n";

std::optional<Limit> limit(const testing::FakeProc& fake) {
  proc::Files files(fake.roots());
  return limit_of(files, 7);
}

TEST(Cgroup, VersionTwoTakesTheTightestParent) {
  testing::FakeProc fake;
  fake.write("proc/7/cgroup", "0::/a/b\n");
  fake.write("proc/7/mountinfo", v2_mount);
  fake.write("cgroup/a/b/memory.max", "max\n");
  fake.write("cgroup/a/memory.max", "2000000000\n");
  fake.write("cgroup/a/memory.current", "1500000000\n");
  fake.write("cgroup/a/memory.stat", "anon 5\ninactive_file 400000000\n");
  auto found = limit(fake);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->bytes, 2000000000u);
  EXPECT_EQ(found->usage, 1500000000u);
  EXPECT_EQ(found->reclaimable, 400000000u);
  EXPECT_EQ(found->version, 2);
  fake.write("cgroup/a/b/memory.max", "1000000000\n");
  EXPECT_EQ(limit(fake)->bytes, 1000000000u);
}

TEST(Cgroup, VersionOneNestedAndHierarchical) {
  testing::FakeProc fake;
  fake.write("proc/7/cgroup", "4:memory:/job/x\n3:cpuset:/\n0::/\n");
  fake.write("proc/7/mountinfo", v1_mount);
  fake.write("cgroup/memory/memory.limit_in_bytes", v1_unlimited);
  fake.write("cgroup/memory/job/memory.limit_in_bytes", "3000000000\n");
  fake.write("cgroup/memory/job/x/memory.limit_in_bytes", v1_unlimited);
  EXPECT_EQ(limit(fake)->bytes, 3000000000u);
  // A parent outside of what is mounted here shows only in the leaf's own statistics.
  fake.write("cgroup/memory/job/x/memory.stat", "cache 1\nhierarchical_memory_limit 900000000\n");
  EXPECT_EQ(limit(fake)->bytes, 900000000u);
  fake.write("cgroup/memory/job/x/memory.stat", std::string("hierarchical_memory_limit ") + v1_unlimited);
  EXPECT_EQ(limit(fake)->bytes, 3000000000u);
}

TEST(Cgroup, ContainersThatShowAPartOrNothing) {
  testing::FakeProc fake;
  EXPECT_FALSE(limit(fake));  // no files at all
  fake.write("proc/7/cgroup", "0::/\n");
  EXPECT_FALSE(limit(fake));  // no mountinfo
  fake.write("proc/7/mountinfo", v2_mount);
  EXPECT_FALSE(limit(fake));  // no memory controller
  fake.write("cgroup/memory.max", "500000000\n");
  EXPECT_EQ(limit(fake)->bytes, 500000000u);  // a namespace: the mount is the group
  fake.write("proc/7/cgroup", "0::/../../elsewhere\n");
  EXPECT_EQ(limit(fake)->bytes, 500000000u);
  fake.write("proc/7/cgroup", "4:memory:/docker/abc/inner\n");
  fake.write("proc/7/mountinfo",
             "35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  fake.write("cgroup/memory/inner/memory.limit_in_bytes", "70000000\n");
  EXPECT_EQ(limit(fake)->bytes, 70000000u);
}

TEST(Cgroup, ThisMachineDoesNotUpsetIt) {
  proc::Files files;
  if (auto found = limit_of(files, getpid())) {
    EXPECT_GT(found->bytes, 0u);
  }
}

TEST(Pressure, Parse) {
  auto found = pressure::parse_pressure(
      "some avg10=1.50 avg60=0.25 avg300=0.00 total=0\nfull avg10=0.75 avg60=0.00 avg300=0.00 total=0\n");
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->some10, 1.5);
  EXPECT_DOUBLE_EQ(found->full10, 0.75);
  for (const char* text :
       {"", "some\n", "some avg10=x avg60=1\n", "full avg10=1 avg60=1\n", "some avg10=nan avg60=0\n"})
    EXPECT_FALSE(pressure::parse_pressure(text)) << text;
}

TEST(Gpu, WithoutALibraryThereIsAStubThatSaysSo) {
  auto gpu = gpu::open_gpu("libplimsoll-absent.so", "libplimsoll-absent.so");
  EXPECT_FALSE(gpu->present());
  EXPECT_NE(gpu->description().find("no GPU library"), std::string::npos);
  const int pids[] = {1};
  EXPECT_TRUE(gpu->memory_by_process(pids).empty());
}

}  // namespace plimsoll::cgroup
