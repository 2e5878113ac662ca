#include "verdict/judgement.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace plimsoll::verdict {
namespace {

Judgement full() {
  Judgement all;
  Verdict& v = all.verdict;
  v.kind = Kind::leak, v.growing = true;
  v.rate = 1, v.rate_low = 2, v.rate_high = 3, v.ruled_out_rate = 4;
  v.floor_start = 5, v.floor_end = 6, v.onset = 7, v.confidence = .8;
  v.seconds_to_limit = 9, v.limit_bytes = 10, v.rate_per_step = 11, v.period = 12;
  v.spikes = {13, 14, "validate"};
  v.samples = 15, v.explanation = "steady rise", v.sentence = "Leak: it grows.";
  all.culprit = {.pid = 16, .name = "python", .role = "main", .share = .17};
  return all;
}

TEST(Judgement, ComesBackFromItsTextAsItWas) {
  Judgement undecided;
  undecided.verdict.needs_seconds = 120;
  for (const Judgement& one : {full(), undecided}) {
    const auto back = read_judgement(to_text(one));
    ASSERT_TRUE(back);
    EXPECT_EQ(to_text(*back), to_text(one));
  }
  const Judgement back = *read_judgement(to_text(full()));
  EXPECT_EQ(back.verdict.kind, Kind::leak);
  EXPECT_EQ(back.verdict.rate_low, 2);
  EXPECT_EQ(back.verdict.rate_high, 3);
  EXPECT_EQ(back.culprit->share, .17);
  EXPECT_EQ(back.culprit->pid, 16);
  EXPECT_EQ(back.verdict.spikes.count, 13u);
}

// A record can be written by anyone: fields of another type are as though they were not there.
TEST(Judgement, WhatIsNotOneIsNoneAndWrongTypesAreLeftOut) {
  for (const char* text : {"", "{", "[]", "7", "{}", R"({"verdict":"maybe"})", R"({"verdict":1})"})
    EXPECT_FALSE(read_judgement(text)) << text;
  EXPECT_FALSE(read_judgement("{\"verdict\":\"leak\",\"x\":" + std::string(100'000, '[')));
  auto json = to_json(full());
  for (auto& [key, value] : json.items())
    if (key != "verdict") value = nlohmann::ordered_json::array({nullptr, "text"});
  const auto read = read_judgement(json.dump());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->verdict.kind, Kind::leak);
  EXPECT_EQ(read->verdict.rate, 0);
  EXPECT_FALSE(read->culprit);
  EXPECT_FALSE(read->verdict.seconds_to_limit);
  EXPECT_EQ(read->verdict.sentence, "");
  EXPECT_FALSE(read_judgement(R"({"verdict":"leak","culprit":{"pid":1e300}})")->culprit->pid);
}

}  // namespace
}  // namespace plimsoll::verdict
