#include "platform/signals.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace plimsoll {
namespace {

int earlier_handler_saw = 0;

TEST(StopRequest, RemembersTheFirstSignal) {
  StopRequest stop;
  EXPECT_FALSE(stop.requested());
  std::raise(SIGTERM);
  EXPECT_TRUE(stop.requested());
  EXPECT_EQ(stop.signal(), SIGTERM);
  std::raise(SIGTERM);  // asking twice politely changes nothing
  EXPECT_EQ(stop.signal(), SIGTERM);
}

TEST(StopRequest, StartsAfreshAndPutsBackWhatWasThere) {
  auto before = std::signal(SIGTERM, [](int number) { earlier_handler_saw = number; });
  {
    StopRequest stop;
    EXPECT_FALSE(stop.requested());
    EXPECT_THROW(StopRequest(), Error);
    std::raise(SIGTERM);
  }
  EXPECT_EQ(earlier_handler_saw, 0);
  std::raise(SIGTERM);
  EXPECT_EQ(earlier_handler_saw, SIGTERM);
  std::signal(SIGTERM, before);
}

TEST(StopRequestDeathTest, TheSecondInterruptKills) {
  EXPECT_EXIT(
      {
        StopRequest stop;
        std::raise(SIGINT);
        std::raise(SIGINT);
        std::_Exit(0);
      },
      testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace plimsoll
