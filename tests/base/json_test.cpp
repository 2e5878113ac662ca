#include "base/json.hpp"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

std::string nested(int depth, char open, char close) {
  return std::string(size_t(depth), open) + std::string(size_t(depth), close);
}

TEST(Json, NestingIsBoundedWhateverTheBrackets) {
  EXPECT_TRUE(parse_json(nested(deepest_json, '[', ']')).is_array());
  EXPECT_TRUE(parse_json(nested(deepest_json + 1, '[', ']')).is_discarded());
  EXPECT_TRUE(parse_json("{\"id\":" + nested(100'000, '[', ']') + "}").is_discarded());
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_TRUE(parse_json(objects).is_discarded());
}

TEST(Json, BracketsInStringsDoNotCountAndClosedOnesNoLonger) {
  const std::string text = "[\"" + std::string(1000, '[') + "\\\"[\"" + "]";
  EXPECT_TRUE(parse_json(text).is_array());
  std::string flat = "[";
  for (int i = 0; i < 1000; ++i) flat += "[1],";
  EXPECT_EQ(parse_json(flat + "0]").size(), 1001u);
  EXPECT_TRUE(parse_json("[1").is_discarded());
}

TEST(Json, ANulIsNoEnd) {
  using namespace std::string_literals;
  EXPECT_TRUE(parse_json("[1]\0[2]"s).is_discarded());
  EXPECT_TRUE(parse_json("[1]\0"s).is_discarded());
  EXPECT_EQ(parse_json(R"(["\u0000"])")[0], "\0"s);
}

TEST(Json, ValuesAreCountedOutsideOfStrings) {
  EXPECT_TRUE(has_more_values("[1,2,{}]", 3));
  EXPECT_FALSE(has_more_values("[1,2,{}]", 4));
  EXPECT_FALSE(has_more_values(R"(["[,,,,\",{{{"])", 1));
}

TEST(Json, AKeyIsFoundTwiceOnlyInTheSameObject) {
  EXPECT_EQ(key_twice(R"({"a":1,"b":{"a":2},"c":[{"a":3},{"a":4}]})"), std::nullopt);
  EXPECT_EQ(key_twice(R"({"a":1,"b":{"c":2,"\u0063":3},"a":4})"), "c");
  EXPECT_EQ(key_twice(R"([{"a":1},{"b":2,"b":3}])"), "b");
  EXPECT_EQ(key_twice("1"), std::nullopt);
}

}  // namespace
}  // namespace plimsoll
