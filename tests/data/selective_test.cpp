#include "data/selective.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace plimsoll {
namespace {

// The tokens that are not learned, joined by |.
std::string left_out(std::vector<std::string_view> tokens, SelectiveLoss selective) {
  const std::vector<bool> structure = find_structure(tokens, selective);
  std::string out;
  for (size_t i = 0; i < tokens.size(); ++i)
    if (structure[i]) out += std::string(tokens[i]) + "|";
  return out;
}

const std::vector<std::string_view> answer = {"{\"", "na",    "me", "\":", " \"", "no",    "\",", " \"size",
                                              "\":", " null", ",",  "\n",  "\"x", "\":[1", "]}"};

TEST(SelectiveLoss, LeavesOutStructure) {
  EXPECT_EQ(left_out(answer, {Structure::none, {}}), "");
  EXPECT_EQ(left_out(answer, {Structure::conservative, {}}), "{\"|\":| \"|\",|\":|,|\n|]}|");
  EXPECT_EQ(left_out(answer, {Structure::moderate, {}}), "{\"|\":| \"|\",|\":| null|,|\n|]}|");
  EXPECT_EQ(left_out(answer, {Structure::aggressive, {}}),
            "{\"|na|me|\":| \"|\",| \"size|\":| null|,|\n|\"x|]}|");
  EXPECT_EQ(left_out(answer, {Structure::aggressive, {"size"}}),
            "{\"|\":| \"|\",| \"size|\":| null|,|\n|]}|");
}

TEST(SelectiveLoss, KeepsWordsThatOnlyLookLikeIt) {
  EXPECT_EQ(left_out({"annul", "nullify", " nulls"}, {Structure::moderate, {}}), "");
  EXPECT_EQ(left_out({"n", "ul", "l"}, {Structure::moderate, {}}), "n|ul|l|");
  EXPECT_EQ(left_out({"\"", "a", "\"", " is", " \"", "b\\\"", "c", "\""}, {Structure::aggressive, {}}),
            "\"|\"| \"|\"|");
}

TEST(SelectiveLoss, KnowsItsNames) {
  EXPECT_EQ(parse_structure("moderate"), Structure::moderate);
  EXPECT_EQ(parse_structure("off"), Structure::none);
  EXPECT_THROW(parse_structure("some"), InputError);
}

}  // namespace
}  // namespace plimsoll
