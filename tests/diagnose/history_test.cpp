#include "diagnose/history.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>

#include "diagnose/roles.hpp"

namespace plimsoll::diagnose {

constexpr uint64_t mb = 1'000'000;

observe::Process process(int pid, int parent, const char* name, uint64_t bytes, double cpu,
                         uint64_t shared = 0) {
  observe::Process p;
  p.id = {pid, 100};
  p.parent = parent;
  p.name = name;
  p.state = 'S';
  p.owned = bytes;
  p.rss = bytes + shared;
  p.shared = shared;
  p.cpu_seconds = cpu;
  return p;
}

// The case everybody has: a wrapper, the server, its twenty workers, and compilers that come and go.
TEST(Roles, ToldByBehaviour) {
  History history;
  for (int t = 0; t < 100; ++t) {
    observe::Snapshot now;
    now.time = t;
    now.processes.push_back(process(10, 1, "uv", 20 * mb, 0.1));
    now.processes.push_back(process(11, 10, "python", 6000 * mb + (t % 10 == 0 ? 4000 * mb : 0), 2.0 * t));
    for (int w = 0; w < 20; ++w)
      now.processes.push_back(process(20 + w, 11, "python", 90 * mb, 0.2 * t, 310 * mb));
    now.processes.push_back(process(1000 + t, 11, "cc1plus", 50 * mb, 0.1));
    if (t > 0) now.ended.push_back({1000 + t - 1, 100});
    history.add(now);
  }
  Roles roles = find_roles(history);
  EXPECT_EQ(roles.role.at({10, 100}), ProcessRole::wrapper);
  EXPECT_EQ(roles.role.at({11, 100}), ProcessRole::main);
  for (int w = 0; w < 20; ++w) EXPECT_EQ(roles.role.at({20 + w, 100}), ProcessRole::worker);
  ASSERT_EQ(roles.pools.size(), 1u);
  EXPECT_EQ(roles.pools[0].explanation, "worker pool: 20 x ~400 MB, sharing 310 MB each, stable");
  EXPECT_GE(history.short_lived(), 90u);
  EXPECT_EQ(history.short_lived_names().begin()->first, "cc1plus");
}

TEST(Roles, OneRankADeviceIsAPoolUnderAWrapper) {
  History history;
  for (int t = 0; t < 50; ++t) {
    observe::Snapshot now;
    now.time = t;
    now.processes.push_back(process(10, 1, "torchrun", 30 * mb, 0.1));
    for (int rank = 0; rank < 4; ++rank)
      now.processes.push_back(process(20 + rank, 10, "python", 5000 * mb, 1.0 * t));
    history.add(now);
  }
  Roles roles = find_roles(history);
  EXPECT_EQ(roles.role.at({10, 100}), ProcessRole::wrapper);
  EXPECT_EQ(roles.pools.size(), 1u);
}

TEST(Roles, UnlikeSiblingsAreNoPool) {
  History history;
  for (int t = 0; t < 50; ++t) {
    observe::Snapshot now;
    now.time = t;
    now.processes.push_back(process(10, 1, "sh", 2 * mb, 0));
    now.processes.push_back(process(11, 10, "python", 5000 * mb, t));
    now.processes.push_back(process(12, 10, "python", 20 * mb, 0.1));
    history.add(now);
  }
  Roles roles = find_roles(history);
  EXPECT_TRUE(roles.pools.empty());
  EXPECT_EQ(roles.role.at({11, 100}), ProcessRole::main);
  EXPECT_EQ(roles.role.at({12, 100}), ProcessRole::other);
}

// Ten thousand children that come and go cost no memory in the end.
TEST(History, TenThousandShortLivedChildren) {
  History history;
  auto run = [&](int from, int to) {
    for (int t = from; t < to; ++t) {
      observe::Snapshot now;
      now.time = t * 0.1;
      now.processes.push_back(process(10, 1, "make", 20 * mb, 1));
      for (int k = 0; k < 20; ++k) now.processes.push_back(process(100 + t * 20 + k, 10, "cc", mb, 0));
      if (t > from)
        for (int k = 0; k < 20; ++k) now.ended.push_back({100 + (t - 1) * 20 + k, 100});
      history.add(now);
    }
  };
  run(0, 100);
  size_t before = mallinfo2().uordblks;
  run(100, 600);
  EXPECT_LT(mallinfo2().uordblks, before + 500'000);
  EXPECT_GE(history.short_lived(), 9'900u);
  EXPECT_LT(history.processes().size(), 60u);
}

}  // namespace plimsoll::diagnose
