// Names of addresses, from files opened ahead in a thread or at once.
#include "heap/symbols.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>

namespace plimsoll::heap {

// Its name is looked up in this program's own file.
__attribute__((noinline)) int function_with_a_name(int x) { return 3 * x + 1; }

namespace {

uint64_t own_address() {
  Dl_info found{};
  dladdr(reinterpret_cast<void*>(&function_with_a_name), &found);
  return reinterpret_cast<uint64_t>(&function_with_a_name) - reinterpret_cast<uint64_t>(found.dli_fbase);
}

std::string own_path() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

class SymbolsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!Symbols::missing().empty()) GTEST_SKIP() << Symbols::missing();
  }
  void expect_name(Symbols& symbols) {
    const std::vector<SourceFrame>& frames = symbols.at(own_path(), "", own_address());
    ASSERT_FALSE(frames.empty());
    EXPECT_NE(frames[0].function.find("function_with_a_name"), std::string::npos) << frames[0].function;
  }
};

TEST_F(SymbolsTest, AFileIsOpenedInAThreadAndThenReady) {
  Symbols symbols;
  const SymbolAddress wanted[] = {{{own_path(), ""}, own_address()}};
  EXPECT_FALSE(symbols.ready(wanted)) << "a file that was never opened cannot be ready";
  while (!symbols.ready(wanted)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  expect_name(symbols);
  EXPECT_TRUE(symbols.ready(wanted));
}

TEST_F(SymbolsTest, ALookUpWaitsForTheFileThatIsBeingOpened) {
  Symbols symbols;
  const SymbolAddress wanted[] = {{{own_path(), ""}, own_address()}};
  EXPECT_FALSE(symbols.ready(wanted));
  expect_name(symbols);
  EXPECT_TRUE(symbols.ready(wanted));
}

TEST_F(SymbolsTest, AFileThatIsGoneIsReadyAndKnowsNothing) {
  Symbols symbols;
  const SymbolAddress wanted[] = {{{"/nonexistent/library.so", "00"}, 16}};
  EXPECT_FALSE(symbols.ready(wanted));
  while (!symbols.ready(wanted)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(symbols.at("/nonexistent/library.so", "00", 16).at(0).function, "");
}

}  // namespace
}  // namespace plimsoll::heap
