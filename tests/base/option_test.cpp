// The one mechanism behind the tables of settings and of the guard's policy.
#include "base/option.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/error.hpp"

namespace plimsoll {
namespace {

struct Things {
  int layers = 2;
  uint64_t seed = 1;
  double share = 0.5, wait = 60, full_percentage = 80;
  bool tied = false;
  std::string tokenizer = "char", out;
  std::optional<Size> line;
};

const Option<Things> table[] = {
    {"One", "layers", &Things::layers, "N", "", 1, 1024},
    {"One", "seed", &Things::seed, "N", ""},
    {"One", "share", &Things::share, "X", "", 0, 1},
    {"One", "wait", &Things::wait, "TIME", "", 0, 100},
    {"One", "full_percentage", &Things::full_percentage, "X", "", 1, 100},
    {"One", "tied", &Things::tied, "", ""},
    {"One", "tokenizer", &Things::tokenizer, "char|bytes", ""},
    {"One", "out", &Things::out, "PATH", ""},
    {"One", "line", &Things::line, "SIZE", ""},
};

const Option<Things>& option(std::string_view name) {
  for (const auto& one : table)
    if (one.name == name) return one;
  throw std::out_of_range(std::string(name));
}

std::string refusal(const std::string& name, const std::string& text) {
  Things things;
  try {
    assign(option(name), things, text, "here");
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted as " + text_of(option(name), things);
}

TEST(Option, TextIsReadAndSaidInTheSameWords) {
  for (auto [name, text, said] : std::initializer_list<std::array<const char*, 3>>{
           {"layers", "7", "7"},
           {"seed", "18446744073709551615", "18446744073709551615"},
           {"share", "0.1", "0.1"},
           {"wait", "1m", "60s"},
           {"wait", "500ms", "0.5s"},
           {"full_percentage", "75%", "75"},
           {"tied", "on", "true"},
           {"tokenizer", "bytes", "bytes"},
           {"line", "2GB", "2GB"},
           {"line", "1.5GiB", "1536MiB"},
           {"line", "1234567", "1234567"},
           {"line", "12.5%", "12.5%"},
           {"line", "", ""},
       }) {
    EXPECT_EQ(refusal(name, text), std::string("accepted as ") + said) << name << " " << text;
    Things once, twice;
    assign(option(name), once, text, "here");
    assign(option(name), twice, text_of(option(name), once), "here");
    EXPECT_EQ(text_of(option(name), twice), said);
  }
}

TEST(Option, WhatDoesNotFitIsRefusedWithWhatWould) {
  EXPECT_EQ(refusal("layers", "0"), "here: '0' is not a whole number from 1 to 1024");
  EXPECT_EQ(refusal("layers", "2x"), "here: '2x' is not a whole number from 1 to 1024");
  EXPECT_EQ(refusal("share", "nan"), "here: 'nan' is not a number from 0 to 1");
  EXPECT_EQ(refusal("wait", "101"), "here: '101s' is not a time from 0 to 100 seconds");
  EXPECT_EQ(refusal("wait", "soon"), "here: 'soon' is not a duration; write it like 500ms, 2s, 5m or 1h");
  EXPECT_EQ(refusal("tokenizer", "words"), "here: 'words' is not one of char, bytes");
  EXPECT_EQ(refusal("line", "0%"), "here: '0%' is not a size above 0 like 512MB, 1.5GiB or 80%");
  EXPECT_EQ(refusal("tied", "maybe"), "here: 'maybe' is not true or false");
}

TEST(Option, TheStrongestVoiceWinsAndTypesOfAFileAreChecked) {
  const std::string path = testing::TempDir() + "options-" + std::to_string(getpid()) + ".toml";
  const auto gathered = [&](const std::string& toml, std::map<std::string, std::string> typed = {}) {
    std::ofstream(path) << toml;
    const Environment environment = [](const char* name) -> const char* {
      return std::string_view(name) == "PLIMSOLL_LAYERS" ? "3" : "";
    };
    return gather(table, "thing", {typed, path, environment});
  };
  GivenByName given = gathered("layers = 2\nshare = 1\nwait = \"5s\"\nline = 100\n", {{"tied", "false"}});
  EXPECT_EQ(given.at("layers").where, "PLIMSOLL_LAYERS");
  EXPECT_EQ(given.at("share").where, path + " line 2");
  EXPECT_EQ(given.at("tied").where, "--no-tied");
  EXPECT_EQ(given.size(), 5u);
  const auto refused = [&](const std::string& toml) -> std::string {
    try {
      gathered(toml);
    } catch (const InputError& error) {
      return std::string(error.what()).substr(path.size());
    }
    return "accepted";
  };
  EXPECT_EQ(refused("share = \"1\""), " line 1: share is a string; expected a number from 0 to 1");
  EXPECT_EQ(refused("layers = [1]"), " line 1: layers is an array; expected a whole number from 1 to 1024");
  EXPECT_EQ(refused("\nlyers = 1"), " line 2: there is no thing 'lyers'; did you mean 'layers'?");
}

}  // namespace
}  // namespace plimsoll
