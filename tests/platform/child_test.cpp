#include "platform/child.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"

namespace plimsoll::platform {
namespace {

struct Launching : testing::Test {
  Launching() {
    std::string name = testing::TempDir() + "launching-XXXXXX";
    place = mkdtemp(name.data());
  }
  ~Launching() override { std::filesystem::remove_all(place); }

  // What is said of a file with this text and these permissions.
  std::string refusal(const char* text, mode_t mode) const {
    const std::string path = place + "/train";
    std::ofstream(path) << text;
    chmod(path.c_str(), mode);
    return refusal(path);
  }
  static std::string refusal(const std::string& program) {
    try {
      Child child({{program}, {}, true});
    } catch (const InputError& error) {
      return error.what();
    }
    return "it runs";
  }
  std::string place;
};

TEST_F(Launching, WhatCannotRunIsRefusedWithItsReason) {
  const auto says = [](const std::string& message, const char* words) {
    return message.find(words) != message.npos;
  };
  EXPECT_PRED2(says, refusal(place), "is a folder");
  EXPECT_PRED2(says, refusal("#!/bin/sh\n", 0600), "is not executable");
  EXPECT_PRED2(says, refusal("print('no interpreter is named')\n", 0700), "does not begin with #!");
  EXPECT_PRED2(says, refusal("#!/no/such/python\n", 0700), "needs an interpreter that is not there");
  EXPECT_PRED2(says, refusal(place + "/missing"), "give a program that is in PATH or a path to one");
  EXPECT_EQ(refusal("#!/bin/sh\n", 0700), "it runs");
}

}  // namespace
}  // namespace plimsoll::platform
