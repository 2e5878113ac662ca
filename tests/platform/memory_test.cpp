#include "platform/memory.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "platform/allocations.hpp"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

class ProcFixture : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/plimsoll-proc-XXXXXX";
    root_ = mkdtemp(name);
    fs::create_directory(root_ + "/self");
  }
  void TearDown() override { fs::remove_all(root_); }
  void write(const std::string& name, const std::string& text) { std::ofstream(root_ + "/" + name) << text; }
  std::string root_;
};

TEST_F(ProcFixture, ReadsWhatTheKernelWrites) {
  write("self/statm", "1000 25 10 5 0 300 0\n");
  write("self/status", "Name:\tVmHWM:\nVmPeak:\t  999 kB\nVmHWM:\t    1234 kB\nVmRSS:\t 7 kB\n");
  write("meminfo",
        "MemTotal:  2000 kB\nMemFree: 500 kB\nMemAvailable:  1500 kB\nSwapTotal: 10 kB\nSwapFree: 5 kB\n");
  OwnMemory own(root_);
  EXPECT_EQ(own.resident(), 25u * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(own.peak(), 1234u * 1024);
  MachineMemory machine = machine_memory(root_);
  EXPECT_EQ(machine.total, 2000u * 1024);
  EXPECT_EQ(machine.available, 1500u * 1024);
  EXPECT_EQ(machine.swap_free, 5u * 1024);
}

TEST_F(ProcFixture, WhatIsMissingIsAnErrorOrTheNextBest) {
  EXPECT_THROW(OwnMemory{root_}, Error);
  EXPECT_THROW(machine_memory(root_), Error);
  write("meminfo", "garbage");
  EXPECT_THROW(machine_memory(root_), Error);
  write("meminfo", "MemTotal: 2000 kB\nMemFree: 500 kB\n");
  EXPECT_EQ(machine_memory(root_).available, 500u * 1024);
  write("self/statm", "");
  write("self/status", "");
  EXPECT_EQ(OwnMemory(root_).resident(), 0u);
  EXPECT_EQ(OwnMemory(root_).peak(), 0u);
}

TEST(OwnMemory, CodeThatIsNotUsedCanBeGivenBack) {
  const OwnMemory own;
  const uint64_t before = own.resident();
  release_code_pages();
  EXPECT_LT(own.resident() + 1000000u, before);
}

TEST(OwnMemory, ReadingAllocatesNothing) {
  OwnMemory own;
  uint64_t before = allocations();
  EXPECT_GT(own.resident(), 1000000u);
  EXPECT_GE(own.peak() + 1000000u, own.resident());
  EXPECT_EQ(allocations(), before);
}

TEST(Mapping, TouchingMakesItResidentAndReleasingGivesItBack) {
  if (!allocations_counted()) GTEST_SKIP() << "a sanitizer has memory of its own";
  OwnMemory own;
  constexpr uint64_t size = 64 << 20, slack = 4 << 20;
  uint64_t before = own.resident();
  Mapping mapping(size);
  EXPECT_LT(own.resident(), before + slack);
  mapping.touch();
  EXPECT_GT(own.resident(), before + size - slack);
  mapping.data()[size - 1] = 7;
  mapping.touch();
  EXPECT_EQ(mapping.data()[size - 1], 7);
  mapping.release(0, size / 2);
  EXPECT_LT(own.resident(), before + size / 2 + slack);
  EXPECT_EQ(mapping.data()[size - 1], 7);
  mapping = Mapping();
  EXPECT_LT(own.resident(), before + slack);
}

TEST(Mapping, OnlyWholePagesInsideTheRangeAreReleased) {
  size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  Mapping mapping(4 * page);
  for (size_t i = 0; i < mapping.size(); ++i) mapping.data()[i] = 1;
  mapping.release(1, 2 * page);  // only the second page lies whole inside
  EXPECT_EQ(mapping.data()[0], 1);
  EXPECT_EQ(mapping.data()[page - 1], 1);
  EXPECT_EQ(mapping.data()[page], 0);
  EXPECT_EQ(mapping.data()[2 * page], 1);
  EXPECT_THROW(mapping.release(page, 4 * page), Error);
  EXPECT_THROW(mapping.release(5 * page, 0), Error);
}

TEST(Mapping, MovesAndRefuses) {
  Mapping first(100, Mapping::Pages::huge);
  char* data = first.data();
  Mapping second(std::move(first));
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(second.size(), 100u);
  EXPECT_THROW(Mapping(size_t{1} << 60), Error);
  EXPECT_THROW(Mapping{SIZE_MAX}, Error);
  Mapping().touch();
}

}  // namespace
}  // namespace plimsoll
