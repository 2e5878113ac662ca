// The parts of the guard inside the trainer: its log, the verdict on its own floor, and the policy derived
// from the settings.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "platform/allocations.hpp"
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
  const std::string path = testing::TempDir() + "guard-policy.toml";
  std::ofstream(path)
      << "dwell = \"7s\"\nmemory_threshold_percentage = 60\nbatch_size_reduction_factor = 0.25\n";
  Settings s;
  s.policy = path, s.memory_threshold_percentage = 75, s.max_memory = "2GB";
  const auto policy = guard_policy(s);
  ASSERT_TRUE(policy);
  EXPECT_EQ(policy->dwell, 7);
  EXPECT_EQ(policy->memory_threshold_percentage, 75);
  EXPECT_EQ(policy->batch_size_reduction_factor, 0.25);
  ASSERT_TRUE(policy->max_memory);
  EXPECT_EQ(policy->max_memory->bytes, 2'000'000'000u);
  s.guard = "off";
  EXPECT_FALSE(guard_policy(s));
  s.guard = "on", s.policy = "/nonexistent/guard.toml";
  EXPECT_THROW(guard_policy(s), InputError);
}

TEST(Fitting, NamesTheLineThatWouldFit) {
  const std::string root = testing::TempDir() + "fitting-proc";
  std::filesystem::create_directories(root);
  auto available = [&](int kilobytes) {
    std::ofstream(root + "/meminfo") << "MemTotal: 1000000 kB\nMemFree: 0 kB\nMemAvailable: " << kilobytes
                                     << " kB\n";
  };
  setenv("PLIMSOLL_PROC_ROOT", root.c_str(), 1);
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
  unsetenv("PLIMSOLL_PROC_ROOT");
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace plimsoll
