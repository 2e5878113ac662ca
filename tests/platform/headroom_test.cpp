#include "platform/headroom.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "platform/allocations.hpp"
#include "platform/fake_proc.hpp"

namespace plimsoll {
namespace {

const char* const v1_mount = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
const char* const v2_mount = "35 31 0:32 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
const char* const v1_unlimited = "9223372036854771712\n";

// The machine of FakeProc has 16 GB (in kibibytes) of which half is available.
struct Fixture : testing::FakeProc {
  Headroom::State read() const {
    proc::Files files(roots());
    return Headroom(files, 7).read();
  }
};

TEST(Headroom, WithoutGroupsItIsTheMachine) {
  Fixture fake;
  auto state = fake.read();
  EXPECT_EQ(state.limit, 16000000ull * 1024);
  EXPECT_EQ(state.used, 8000000ull * 1024);
  EXPECT_EQ(state.source, 0);
  EXPECT_EQ(state.pressure, 0);
  fake.write("proc/pressure/memory",
             "some avg10=9.00 avg60=1.00 avg300=0 total=5\nfull avg10=4.50 avg60=0.10 avg300=0 total=1\n");
  EXPECT_EQ(fake.read().pressure, 4.5);
}

TEST(Headroom, VersionTwoPageCacheIsNoUse) {
  Fixture fake;
  fake.write("proc/7/cgroup", "0::/a/b\n");
  fake.write("proc/7/mountinfo", v2_mount);
  fake.write("cgroup/a/b/memory.max", "10000000000\n");
  fake.write("cgroup/a/b/memory.current", "9800000000\n");
  fake.write("cgroup/a/b/memory.stat", "anon 1800000000\ninactive_file 5000000000\nactive_file 3000000000\n");
  auto state = fake.read();
  // 8 GB of cache, of which a 64th of the limit counts as needed: far from any line.
  EXPECT_EQ(state.limit, 16000000ull * 1024) << "the machine is fuller";
  fake.write("cgroup/a/b/memory.stat", "anon 8800000000\ninactive_file 1000000000\n");
  state = fake.read();
  EXPECT_EQ(state.limit, 10000000000u);
  EXPECT_EQ(state.used, 8800000000u);
  EXPECT_EQ(state.room, 1200000000u);
}

// Half of the pages in active use count as needed, up to a 64th of the limit.
TEST(Headroom, SomeOfTheCacheInUseIsNeeded) {
  Fixture fake;
  fake.write("proc/7/cgroup", "0::/a\n");
  fake.write("proc/7/mountinfo", v2_mount);
  fake.write("cgroup/a/memory.max", "6400000000\n");
  fake.write("cgroup/a/memory.current", "6000000000\n");
  fake.write("cgroup/a/memory.stat", "inactive_file 100000000\nactive_file 50000000\n");
  EXPECT_EQ(fake.read().used, 6000000000u - 100000000 - 25000000);
  fake.write("cgroup/a/memory.stat", "inactive_file 100000000\nactive_file 500000000\n");
  EXPECT_EQ(fake.read().used, 6000000000u - 100000000 - 400000000);
}

TEST(Headroom, EveryParentCounts) {
  for (int version : {1, 2}) {
    Fixture fake;
    fake.write("proc/7/cgroup", version == 1 ? "4:memory:/job/x\n0::/\n" : "0::/job/x\n");
    fake.write("proc/7/mountinfo", version == 1 ? v1_mount : v2_mount);
    const std::string base = version == 1 ? "cgroup/memory/job/" : "cgroup/job/";
    const std::string limit = version == 1 ? "memory.limit_in_bytes" : "memory.max",
                      usage = version == 1 ? "memory.usage_in_bytes" : "memory.current",
                      key = version == 1 ? "total_inactive_file" : "inactive_file";
    fake.write(base + "x/" + limit, "2000000000\n");
    fake.write(base + "x/" + usage, "200000000\n");
    fake.write(base + limit, "3000000000\n");
    fake.write(base + usage, "2900000000\n");
    fake.write(base + "memory.stat", key + " 100000000\ninactive_file 5\n");
    proc::Files files(fake.roots());
    Headroom headroom(files, 7);
    auto state = headroom.read();
    EXPECT_EQ(state.limit, 3000000000u) << version;
    EXPECT_EQ(state.used, version == 1 ? 2800000000u : 2899999995u);
    EXPECT_EQ(state.room, state.limit - state.used);
    EXPECT_TRUE(headroom.name(state.source).ends_with("/job")) << headroom.name(state.source);

    // The parent's neighbours have gone, and the limit of the own group was lowered meanwhile.
    fake.write(base + usage, "300000000\n");
    fake.write(base + "x/" + limit, "210000000\n");
    for (int i = 0; i < 40; ++i) state = headroom.read();
    EXPECT_EQ(state.limit, 210000000u);
    EXPECT_EQ(state.used, 200000000u);
  }
}

TEST(Headroom, UnlimitedGroupsAndThoseWithoutFiles) {
  Fixture fake;
  fake.write("proc/7/cgroup", "4:memory:/x\n");
  fake.write("proc/7/mountinfo", v1_mount);
  EXPECT_EQ(fake.read().source, 0);
  fake.write("cgroup/memory/x/memory.limit_in_bytes", v1_unlimited);
  fake.write("cgroup/memory/x/memory.usage_in_bytes", "15000000000\n");
  EXPECT_EQ(fake.read().source, 0);
  // A parent outside of what is mounted here shows in the group's own statistics.
  fake.write("cgroup/memory/x/memory.stat", "hierarchical_memory_limit 16000000000\ntotal_inactive_file 0\n");
  EXPECT_EQ(fake.read().limit, 16000000000u);
}

TEST(Headroom, FollowsProcessesFromGroupToGroup) {
  Fixture fake;
  fake.write("proc/7/cgroup", "4:memory:/wide\n");
  fake.write("proc/7/mountinfo", v1_mount);
  for (auto [name, limit] : {std::pair("wide", "9000000000\n"), std::pair("tight", "1000000000\n")}) {
    fake.write(std::string("cgroup/memory/") + name + "/memory.limit_in_bytes", limit);
    fake.write(std::string("cgroup/memory/") + name + "/memory.usage_in_bytes", "900000000\n");
  }
  proc::Files files(fake.roots());
  Headroom headroom(files, 7);
  EXPECT_EQ(headroom.read().limit, 16000000ull * 1024) << "the machine is fuller";
  // A child in another group: the tightest counts, and the process that is in it is the one to stop.
  fake.write("proc/8/cgroup", "4:memory:/tight\n");
  const uint64_t before = allocations();
  const bool moved = headroom.see(files, 7), found = headroom.see(files, 8);
  headroom.forget_unseen();
  const auto state = headroom.read();
  EXPECT_EQ(allocations(), before);
  EXPECT_FALSE(moved);
  EXPECT_TRUE(found);
  EXPECT_EQ(state.limit, 1000000000u);
  EXPECT_TRUE(headroom.applies(files, state.source, 8));
  EXPECT_FALSE(headroom.applies(files, state.source, 7));
  EXPECT_TRUE(headroom.applies(files, 0, 7)) << "the machine counts everybody";
  // A round in which nothing could be read forgets nothing; one without the child forgets its group.
  headroom.see(files, 99);
  headroom.forget_unseen();
  EXPECT_EQ(headroom.read().limit, 1000000000u);
  headroom.see(files, 7);
  headroom.forget_unseen();
  EXPECT_EQ(headroom.read().limit, 16000000ull * 1024);
}

TEST(Headroom, AProcessThatIsGoneLeavesTheGroupOfThisOne) {
  Fixture fake;
  fake.write(fmt::format("proc/{}/cgroup", getpid()), "4:memory:/tight\n");
  fake.write("proc/self/mountinfo", v1_mount);
  fake.write("cgroup/memory/tight/memory.limit_in_bytes", "1000000000\n");
  fake.write("cgroup/memory/tight/memory.usage_in_bytes", "900000000\n");
  EXPECT_EQ(fake.read().limit, 1000000000u);
}

TEST(Headroom, ReadingAllocatesNothing) {
  proc::Files files;
  Headroom headroom(files, getpid());
  headroom.read();
  const uint64_t before = allocations();
  for (int i = 0; i < 100; ++i) headroom.read();
  EXPECT_EQ(allocations(), before);
}

}  // namespace
}  // namespace plimsoll
