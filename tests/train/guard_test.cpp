// The parts of the guard inside the trainer: its log, the verdict on its own floor, and the policy derived
// from the settings.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "platform/allocations.hpp"
#include "platform/memory.hpp"
#include "train/fitting.hpp"
#include "train/guard_log.hpp"
#include "train/own_floor.hpp"

namespace plimsoll {
namespace {

TEST(GuardAction, KnowsWhetherMemoryFellAsPlanned) {
  GuardAction action;
  action.rss_before = 200'000'000, action.planned = -50'000'000;
  action.rss_after = 150'500'000;
  EXPECT_TRUE(action.as_planned());
  action.rss_after = 140'000'000;
  EXPECT_TRUE(action.as_planned()) << "more than planned is no fault";
  action.rss_after = 160'000'000;
  EXPECT_FALSE(action.as_planned());
  action.planned = 50'000'000, action.rss_after = 260'000'000;
  EXPECT_FALSE(action.as_planned());
}

TEST(OwnFloor, AFlatRunIsNeverSuspiciousAndNothingIsAllocated) {
  OwnFloor floor;
  const uint64_t before = allocations();
  for (uint64_t i = 1; i <= 20000; ++i) {
    floor.see(double(i) * 0.01, i, 100'000'000 + i % 7 * 100'000 + (i % 500 == 0) * 80'000'000);
    ASSERT_FALSE(floor.suspicious(1000)) << i;
  }
  EXPECT_EQ(allocations() - before, 0u);
}

TEST(OwnFloor, ARisingFloorIsJudgedByTheStep) {
  OwnFloor floor;
  int looks = 0;
  for (uint64_t i = 1; i <= 5000; ++i) {
    floor.see(double(i) * 0.01, i, 100'000'000 + i * 50'000 + i % 7 * 100'000);
    if (floor.suspicious(40'000)) {
      ++looks;
      if (i > 3000) {
        const verdict::Verdict verdict = floor.judge(16e9);
        EXPECT_EQ(verdict.kind, verdict::Kind::leak);
        ASSERT_TRUE(verdict.rate_per_step);
        EXPECT_NEAR(*verdict.rate_per_step, 50'000, 5'000);
      }
    }
  }
  EXPECT_GE(looks, 3);
  EXPECT_LE(looks, 20) << "looks are taken at geometric times";
}

TEST(OwnFloor, ARiseBelowTheThresholdIsLeftToTheEnd) {
  OwnFloor floor;
  for (uint64_t i = 1; i <= 5000; ++i) {
    floor.see(double(i) * 0.01, i, 100'000'000 + i * 5'000);
    ASSERT_FALSE(floor.suspicious(1e6));
  }
}

TEST(GuardPolicy, SettingsWinOverTheFileAndOffIsOff) {
  const std::string path = testing::TempDir() + "guard-policy-" + std::to_string(getpid()) + ".toml";
  std::ofstream(path)
      << "dwell = \"7s\"\nmemory_threshold_percentage = 60\nbatch_size_reduction_factor = 0.25\n";
  Settings s;
  s.policy = path, s.memory_threshold_percentage = 75, s.max_memory = parse_size("2GB");
  const auto policy = guard_policy(s);
  ASSERT_TRUE(policy);
  EXPECT_EQ(policy->dwell, 7);
  EXPECT_EQ(policy->memory_threshold_percentage, 75);
  EXPECT_EQ(policy->batch_size_reduction_factor, 0.25);
  ASSERT_TRUE(policy->max_memory);
  EXPECT_EQ(policy->max_memory->bytes, 2'000'000'000u);
  // Lines are compared once everybody has spoken: a pause line below the usual threshold, and a threshold below that.
  std::ofstream(path) << "pause_threshold = \"78%\"\n";
  s.memory_threshold_percentage = 70;
  EXPECT_EQ(guard_policy(s)->lines(100).pause, 78u);
  s.memory_threshold_percentage = 80;
  EXPECT_THROW(guard_policy(s), InputError);
  s.guard = "off";
  EXPECT_FALSE(guard_policy(s));
  s.guard = "on", s.policy = "/nonexistent/guard.toml";
  EXPECT_THROW(guard_policy(s), InputError);
}

// A machine of 1,000,000 kB.
class Fitting : public testing::Test {
 protected:
  Fitting() {
    std::filesystem::create_directories(root_);
    setenv("PLIMSOLL_PROC_ROOT", root_.c_str(), 1);
  }
  ~Fitting() override {
    unsetenv("PLIMSOLL_PROC_ROOT");
    std::filesystem::remove_all(root_);
  }
  void available(int kilobytes) const {
    std::ofstream(root_ + "/meminfo")
        << "MemTotal: 1000000 kB\nMemFree: 0 kB\nMemAvailable: " << kilobytes << " kB\n";
  }

 private:
  const std::string root_ = testing::TempDir() + "fitting-proc-" + std::to_string(getpid());
};

TEST_F(Fitting, NamesTheLineThatWouldFit) {
  Settings s;
  s.batch = s.micro_batch = 64;
  const uint64_t plan = 300'000'000;
  auto refusal = [&](const std::optional<guard::Policy>& policy) -> std::string {
    try {
      refuse_what_cannot_fit(s, 35, policy, plan);
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  };
  available(900'000);
  EXPECT_EQ(refusal(guard::Policy{}), "");
  available(200'000);
  EXPECT_NE(refusal(guard::Policy{}).find("give --memory "), std::string::npos) << refusal(guard::Policy{});
  EXPECT_NE(refusal(std::nullopt), "");
  available(370'000);  // fits, but only above the line at which it would be paused
  EXPECT_NE(refusal(guard::Policy{}).find("--guard off"), std::string::npos) << refusal(guard::Policy{});
  EXPECT_EQ(refusal(std::nullopt), "");
  available(101'000);
  EXPECT_NE(refusal(guard::Policy{}).find("the minimum"), std::string::npos) << refusal(guard::Policy{});
  guard::Policy line;
  line.max_memory = Size{.bytes = 200'000'000};
  available(900'000);
  EXPECT_NE(refusal(line).find("max_memory"), std::string::npos) << refusal(line);
}

TEST_F(Fitting, TakesTheSmallerOfItsLineAndWhatIsLeft) {
  Settings s;
  s.batch = s.micro_batch = 32, s.memory = "400MB", s.dim = 128, s.layers = 4, s.heads = 4, s.context = 128;
  std::optional<guard::Policy> policy = guard::Policy{}, none;
  available(900'000);
  const auto whole = fitted_way(s, 35, policy);
  EXPECT_EQ(whole.note, "");
  // Of 1,024 MB others use 717: 102 MB are left below the shrink line at 80 %, and more with every byte of our own.
  available(300'000);
  const auto less = fitted_way(s, 35, policy);
  EXPECT_NE(less.note.find("instead of --memory 400MB"), std::string::npos) << less.note;
  EXPECT_LT(less.way.bytes(), whole.way.bytes());
  EXPECT_EQ(policy->memory_threshold_percentage, 80);
  EXPECT_EQ(fitted_way(s, 35, none).note, "");
}

TEST_F(Fitting, RaisesLinesThatEvenTheLeastWouldCrossUnlessTheyWereSet) {
  if (!allocations_counted()) GTEST_SKIP() << "a sanitizer has memory of its own";
  Settings s;
  s.batch = s.micro_batch = 32, s.memory = "400MB", s.dim = 128, s.layers = 4, s.heads = 4, s.context = 128;
  const uint64_t own = OwnMemory().resident() / 1024;
  std::optional<guard::Policy> policy = guard::Policy{}, set = policy;
  set->memory_threshold_percentage = 81;
  available(int(150'000 - own));
  const auto least = fitted_way(s, 35, policy);
  EXPECT_NE(least.note.find("the guard acts at"), std::string::npos) << least.note;
  EXPECT_GT(policy->memory_threshold_percentage, 80);
  auto refusal = [&](std::optional<guard::Policy> with) -> std::string {
    try {
      fitted_way(s, 35, with);
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_NE(refusal(set).find("bytes at least"), std::string::npos) << refusal(set);
  available(21'000);
  EXPECT_NE(refusal(guard::Policy{}).find("bytes at least"), std::string::npos) << refusal(guard::Policy{});
}

}  // namespace
}  // namespace plimsoll
