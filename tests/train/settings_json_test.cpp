#include "train/settings_json.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace plimsoll {
namespace {

using nlohmann::json;

TEST(SettingsJson, ComesBackTheSameThroughText) {
  Settings s = preset("gpt2");
  s.lr = 1.0 / 3, s.seed = UINT64_MAX, s.prompt = "zwölf \"quoted\"\n", s.memory = "200MB", s.data = "/x y";
  EXPECT_EQ(from_json(json::parse(to_json(s).dump())), s);
}

TEST(SettingsJson, AMissingKeyKeepsItsDefault) {
  json j = to_json(Settings{});
  j.erase("keep");
  EXPECT_EQ(from_json(j), Settings{});
}

TEST(SettingsJson, AnythingElseIsRefused) {
  EXPECT_THROW(from_json(json::array()), InputError);
  EXPECT_THROW(from_json(nullptr), InputError);
  const std::pair<const char*, json> wrong[] = {
      {"layers", "2"}, {"layers", 2.0},        {"layers", true},       {"layers", nullptr},
      {"layers", -1},  {"layers", 1e300},      {"layers", 4294967298}, {"seed", -1},
      {"tied", 1},     {"tied", "true"},       {"lr", "1e-3"},         {"lr", nullptr},
      {"out", 5},      {"out", json::array()}, {"gemm", "fast"},       {"colour", "red"}};
  for (const auto& [key, value] : wrong) {
    json j = to_json(Settings{});
    j[key] = value;
    EXPECT_THROW(from_json(j), InputError) << key << " " << value;
  }
}

}  // namespace
}  // namespace plimsoll
