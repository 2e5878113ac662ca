#include "observe/tree.hpp"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "platform/child.hpp"
#include "platform/fake_proc.hpp"

namespace plimsoll::observe {

using testing::FakeProc;

std::vector<int> pids(const std::vector<proc::Stat>& members) {
  std::vector<int> list;
  for (const auto& stat : members) list.push_back(stat.id.pid);
  return list;
}

TEST(Tree, DescendantsAndNobodyElse) {
  FakeProc fake;
  fake.put({.pid = 10, .parent = 1});
  fake.put({.pid = 11, .parent = 10});
  fake.put({.pid = 12, .parent = 11});
  fake.put({.pid = 13, .parent = 1});
  fake.put({.pid = 5, .parent = 12});  // a low pid may be the youngest
  proc::Files files(fake.roots());
  ProcessTree tree(files, 10, false);
  EXPECT_EQ(pids(tree.scan()), (std::vector<int>{5, 10, 11, 12}));
}

TEST(Tree, OrphansStayMembers) {
  FakeProc fake;
  fake.put({.pid = 10});
  fake.put({.pid = 11, .parent = 10});
  proc::Files files(fake.roots());
  ProcessTree tree(files, 10, false);
  tree.scan();
  fake.remove(10);
  fake.put({.pid = 11, .parent = 1});  // its parent died: init has it now
  fake.put({.pid = 12, .parent = 11});
  EXPECT_EQ(pids(tree.scan()), (std::vector<int>{11, 12}));
}

TEST(Tree, ADaemonIsFoundByItsSession) {
  FakeProc fake;
  fake.put({.pid = 10});
  fake.put({.pid = 11, .parent = 10, .session = 11});  // has called setsid
  proc::Files files(fake.roots());
  ProcessTree tree(files, 10, false);
  tree.scan();
  fake.remove(11);
  fake.put({.pid = 12, .parent = 1, .session = 11});  // its child, never seen while its parent lived
  fake.put({.pid = 13, .parent = 1, .session = 1});
  EXPECT_EQ(pids(tree.scan()), (std::vector<int>{10, 12}));
}

TEST(Tree, AReusedPidIsSomebodyElse) {
  FakeProc fake;
  fake.put({.pid = 10});
  fake.put({.pid = 11, .parent = 10, .start = 200});
  fake.put({.pid = 20, .parent = 1, .start = 150});
  proc::Files files(fake.roots());
  ProcessTree tree(files, 10, false);
  tree.scan();
  fake.put({.pid = 11, .parent = 1, .start = 900});   // a stranger with the old pid
  fake.put({.pid = 20, .parent = 10, .start = 950});  // a child with a stranger's old pid
  std::vector<int> seen;
  for (int i = 0; i < 16; ++i) seen = pids(tree.scan());  // strangers are looked at again within 16 scans
  EXPECT_EQ(seen, (std::vector<int>{10, 20}));
}

TEST(Tree, VanishingAndDamagedEntriesAreSkipped) {
  FakeProc fake;
  fake.put({.pid = 10});
  fake.write("proc/11/cmdline", "");  // gone between the listing and the reading
  fake.write("proc/12/stat", "");
  fake.write("proc/13/stat", "13 (x");
  proc::Files files(fake.roots());
  ProcessTree tree(files, 10, false);
  EXPECT_EQ(pids(tree.scan()), std::vector<int>{10});
  fake.remove(10);
  EXPECT_TRUE(tree.scan().empty());
}

// A real double fork: the daemon's parents are gone before anybody looks, and still it is found.
TEST(Tree, ALaunchedDaemonComesToTheSubreaper) {
  platform::Child child({.command = {"sh", "-c", "setsid sh -c 'sleep 60 & exit' & wait; exit 4"},
                         .environment = {},
                         .pipes = false});
  for (int i = 0; i < 500 && !child.exit_code(); ++i) usleep(10'000), child.reap();
  ASSERT_EQ(child.exit_code(), 4);
  proc::Files files;
  ProcessTree tree(files, child.pid(), true);
  std::vector<proc::Stat> members;
  for (int i = 0; i < 200; ++i) {
    members = tree.scan();
    std::erase_if(members, [](auto& stat) { return stat.state == 'Z'; });
    if (members.size() == 1 && members[0].name == "sleep") break;
    usleep(10'000);
  }
  ASSERT_EQ(members.size(), 1u);
  EXPECT_EQ(members[0].name, "sleep");
  kill(members[0].id.pid, SIGKILL);
  waitpid(members[0].id.pid, nullptr, 0);
}

}  // namespace plimsoll::observe
