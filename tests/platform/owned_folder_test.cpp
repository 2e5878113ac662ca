#include "platform/owned_folder.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

namespace plimsoll::platform {
namespace {

namespace fs = std::filesystem;

struct OwnedFolders : testing::Test {
  OwnedFolders() {
    std::string name = testing::TempDir() + "owned-XXXXXX";
    place = mkdtemp(name.data());
  }
  ~OwnedFolders() override { fs::remove_all(place); }
  int left() const { return int(std::distance(fs::directory_iterator(place), fs::directory_iterator())); }
  std::string place;
};

TEST_F(OwnedFolders, AreRemovedOnceTheirOwnerWasKilled) {
  const pid_t child = fork();
  if (child == 0) {
    const OwnedFolder mine(place, "live");
    std::ofstream(mine.path() + "/run.db") << "rows";
    _exit(mine.ok() ? 0 : 1);  // as after SIGKILL: no destructor runs
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  ASSERT_EQ(left(), 1);
  EXPECT_EQ(remove_abandoned(place, "steps", 0), 0) << "another kind";
  EXPECT_EQ(remove_abandoned(place, "live", 600), 0) << "too young";
  EXPECT_EQ(remove_abandoned(place, "live", 0), 1);
  EXPECT_EQ(left(), 0);
}

TEST_F(OwnedFolders, StayWhileTheirOwnerLives) {
  std::optional<OwnedFolder> mine(std::in_place, place, "live");
  ASSERT_TRUE(mine->ok());
  EXPECT_EQ(remove_abandoned(place, "live", 0), 0);
  EXPECT_TRUE(fs::exists(mine->path()));
  mine.reset();
  EXPECT_EQ(remove_abandoned(place, "live", 0), 1);
}

TEST_F(OwnedFolders, WhatIsNotProvablyOursStays) {
  const std::string victim = place + "/victim";
  std::ofstream(victim) << "precious";
  fs::create_directory(place + "/plimsoll-live-longname");  // not a name we make
  fs::create_directory(place + "/plimsoll-live-ABCDEF");    // readable by others
  chmod((place + "/plimsoll-live-ABCDEF").c_str(), 0755);
  fs::create_directory(place + "/elsewhere");
  chmod((place + "/elsewhere").c_str(), 0700);
  fs::create_directory_symlink(place + "/elsewhere", place + "/plimsoll-live-GHIJKL");
  fs::create_directory(place + "/plimsoll-live-MNOPQR");  // holds something we never put there
  chmod((place + "/plimsoll-live-MNOPQR").c_str(), 0700);
  fs::create_symlink(victim, place + "/plimsoll-live-MNOPQR/run.db");
  EXPECT_EQ(remove_abandoned(place, "live", 0), 0);
  EXPECT_EQ(left(), 6);
  EXPECT_TRUE(fs::exists(victim));
}

TEST_F(OwnedFolders, AFolderThatCannotBeMadeIsSaid) {
  EXPECT_FALSE(OwnedFolder(place + "/nowhere", "live").ok());
}

}  // namespace
}  // namespace plimsoll::platform
