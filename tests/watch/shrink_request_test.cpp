#include "watch/shrink_request.hpp"

#include <gtest/gtest.h>

namespace plimsoll::watch {
namespace {

guard::Decision shrink(uint64_t used) {
  guard::Decision decision;
  decision.level = guard::Level::shrink;
  decision.used = used;
  return decision;
}

std::string effect(const ActionLog& log) { return log.actions().back().effect.data(); }

TEST(ShrinkRequest, SaysWhatCameOfIt) {
  ActionLog log("");
  ShrinkRequest request(log, 5);
  request.ask(1, shrink(800'000'000), 1, false);
  EXPECT_EQ(effect(log), "") << "open until somebody answers";
  request.answered(3, 200'000'000);
  EXPECT_EQ(effect(log), "") << "the next reading says what use did";
  request.answered(3.5, 1);
  request.advance(4, shrink(790'000'000));
  const char* said = "the program reports 200 MB released after 2.0s; use went from 800 MB to 790 MB";
  EXPECT_EQ(effect(log), said);
  request.answered(5, 1);
  request.advance(100, shrink(1));
  EXPECT_EQ(effect(log), said) << "one answer closes it";
}

TEST(ShrinkRequest, PatienceEnds) {
  ActionLog log("");
  ShrinkRequest request(log, 5);
  request.ask(1, shrink(800'000'000), 1, false);
  request.advance(5.9, shrink(800'000'000));
  EXPECT_EQ(effect(log), "");
  request.advance(6, shrink(700'000'000));
  EXPECT_EQ(effect(log), "no answer; use went from 800 MB to 700 MB");
}

TEST(ShrinkRequest, NobodyListens) {
  ActionLog log("");
  ShrinkRequest request(log, 5);
  request.ask(1, shrink(1), 0, true);
  EXPECT_STREQ(log.actions().back().what.data(), "would ask to shrink");
  EXPECT_EQ(effect(log), "no listener is left");
}

}  // namespace
}  // namespace plimsoll::watch
