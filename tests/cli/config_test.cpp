// Tests the built program from outside: its messages and exit codes.
#include <nlohmann/json.hpp>

#include "cli/program.hpp"

namespace plimsoll::cli {
namespace {

TEST(Program, WrongUsageIsOneLineAndCodeTwo) {
  expect_refused("", "no command given; the commands are");
  expect_refused("nope", "unknown command 'nope'; the commands are");
  expect_refused("--nope", "unknown option '--nope'");
  expect_refused("config --lyers 3", "unknown option '--lyers'; did you mean '--layers'?");
  expect_refused("config --lyers=3", "unknown option '--lyers'; did you mean '--layers'?");
  expect_refused("config more", "unexpected 'more'");
  expect_refused("config --layers", "--layers needs a value");
  expect_refused("config --layers 2 --layers 3", "--layers is given more than once");
  expect_refused("config --tied --no-tied", "--tied and --no-tied contradict each other");
  expect_refused("config --tiny --small", "contradict each other");
  expect_refused("config --small --heads 3", "--heads 2 or 4");
  expect_refused("config --lr -1", "--lr: '-1' is not a number");
  expect_refused("config --small 5x", "--small 5x: '5x' is not a whole number");
  expect_refused("config --config /nowhere.toml", "cannot read '/nowhere.toml'");
}

TEST(Program, HelpShowsAnExample) {
  Outcome outcome = plimsoll("config --help");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.out.find("Example:\n  plimsoll config"), std::string::npos);
  EXPECT_NE(outcome.out.find("--eval-every N"), std::string::npos);
}

TEST(Config, JsonSaysValueAndOrigin) {
  Outcome outcome =
      plimsoll("config --json --small 5000 --no-head-bias --prompt '[a, b]'", "PLIMSOLL_SEED=9");
  ASSERT_EQ(outcome.code, 0) << outcome.error;
  auto settings = nlohmann::json::parse(outcome.out).at("settings");
  EXPECT_EQ(settings.at("iterations"), nlohmann::json({{"value", 5000}, {"from", "--small 5000"}}));
  EXPECT_EQ(settings.at("head_bias"), nlohmann::json({{"value", false}, {"from", "--no-head-bias"}}));
  EXPECT_EQ(settings.at("seed"), nlohmann::json({{"value", 9}, {"from", "PLIMSOLL_SEED"}}));
  EXPECT_EQ(settings.at("prompt").at("value"), "[a, b]");
  EXPECT_EQ(settings.at("dim").at("from"), "preset small");
}

TEST(Config, PresetFlagsWorkWithAndWithoutACount) {
  for (const char* arguments : {"--tiny 77 --layers 2", "--layers 2 --tiny 77", "--tiny=77 --layers 2",
                                "--preset tiny --iterations 77 --layers 2"}) {
    Outcome outcome = plimsoll(std::string("config --json ") + arguments);
    ASSERT_EQ(outcome.code, 0) << outcome.error;
    auto settings = nlohmann::json::parse(outcome.out).at("settings");
    EXPECT_EQ(settings.at("iterations").at("value"), 77) << arguments;
    EXPECT_EQ(settings.at("layers").at("value"), 2) << arguments;
    EXPECT_EQ(settings.at("dim").at("value"), 64) << arguments;
  }
  auto bare = nlohmann::json::parse(plimsoll("config --tiny --json").out).at("settings");
  EXPECT_EQ(bare.at("iterations").at("value"), 2000);
}

TEST(Config, ThePageOfTheDocumentationIsCurrent) {
  std::string table = plimsoll("config --markdown").out,
              page = contents(PLIMSOLL_SOURCE_DIR "/docs/configuration.md");
  ASSERT_FALSE(table.empty());
  EXPECT_NE(page.find(table), std::string::npos) << "docs/configuration.md is out of date: put the output of "
                                                    "`plimsoll config --markdown` below its last heading";
}

}  // namespace
}  // namespace plimsoll::cli
