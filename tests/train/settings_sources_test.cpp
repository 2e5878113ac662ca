#include "train/settings_sources.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"

namespace plimsoll {
namespace {

class Sources : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/plimsoll-settings-XXXXXX";
    folder_ = mkdtemp(name);
    sources_.environment = [this](const char* variable) -> const char* {
      auto found = variables_.find(variable);
      return found == variables_.end() ? nullptr : found->second.c_str();
    };
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void file(const std::string& text) {
    sources_.config = folder_ + "/run.toml";
    std::ofstream(sources_.config) << text;
  }
  std::string refusal() {
    try {
      resolve(sources_);
    } catch (const InputError& e) {
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
      return e.what();
    }
    return "";
  }
  bool refused_with(const std::string& part) {
    std::string text = refusal();
    if (text.find(part) != text.npos) return true;
    ADD_FAILURE() << "'" << text << "' does not say '" << part << "'";
    return false;
  }

  std::string folder_;
  std::map<std::string, std::string> variables_;
  SettingsSources sources_;
};

TEST_F(Sources, NothingSaidIsSmall) {
  EXPECT_EQ(resolve(sources_), preset("small"));
  EXPECT_EQ(trace(sources_).origins.at("layers").where, "default");
}

TEST_F(Sources, TheStrongerSourceWinsForEverySettingByItself) {
  file("preset = \"tiny\"\nlayers = 3\nheads = 8\nseed = 5\n");
  variables_ = {{"PLIMSOLL_HEADS", "16"}, {"PLIMSOLL_SEED", "6"}};
  sources_.command_line = {{"seed", "7"}};
  Resolved run = trace(sources_);
  EXPECT_EQ(run.settings.dim, 64);  // preset of the file
  EXPECT_EQ(run.origins.at("dim").where, "preset tiny");
  EXPECT_EQ(run.settings.layers, 3);
  EXPECT_EQ(run.origins.at("layers").where, sources_.config + " line 2");
  EXPECT_EQ(run.settings.heads, 16);
  EXPECT_EQ(run.origins.at("heads").where, "PLIMSOLL_HEADS");
  EXPECT_EQ(run.settings.seed, 7u);
  EXPECT_EQ(run.origins.at("seed").where, "--seed");
  EXPECT_EQ(run.origins.at("gemm").where, "default");
}

TEST_F(Sources, APresetFlagBeatsTheFilesPresetButNotItsExplicitFields) {
  file("preset = \"tiny\"\nlayers = 3\n");
  sources_.presets = {{"small", "5000"}};
  Settings s = resolve(sources_);
  EXPECT_EQ(s.preset, "small");
  EXPECT_EQ(s.dim, 128);
  EXPECT_EQ(s.layers, 3);
  EXPECT_EQ(s.iterations, 5000);
}

TEST_F(Sources, ConfigurationFileFromTheEnvironment) {
  file("layers = 5");
  variables_["PLIMSOLL_CONFIG"] = sources_.config;
  sources_.config = "";
  EXPECT_EQ(resolve(sources_).layers, 5);
}

TEST_F(Sources, EmptyVariablesCountAsNotSet) {
  variables_["PLIMSOLL_LAYERS"] = "";
  EXPECT_EQ(resolve(sources_).layers, 2);
}

TEST_F(Sources, DependentFieldsFollowUnlessGiven) {
  sources_.command_line = {{"dim", "256"}, {"lr", "0.01"}, {"context", "256"}};
  Resolved run = trace(sources_);
  EXPECT_EQ(run.settings.ff, 1024);
  EXPECT_EQ(run.origins.at("ff").where, "4 x dim");
  EXPECT_DOUBLE_EQ(run.settings.min_lr, 0.001);
  EXPECT_EQ(run.settings.positions, 256);
  sources_.command_line.insert({{"ff", "300"}, {"min_lr", "0"}, {"positions", "512"}});
  Settings s = resolve(sources_);
  EXPECT_EQ(s.ff, 300);
  EXPECT_EQ(s.min_lr, 0);
  EXPECT_EQ(s.positions, 512);
}

TEST_F(Sources, AFieldSaidAsThePresetHasItMovesNothing) {
  sources_.presets = {{"tiny", {}}};
  sources_.command_line = {{"dim", "64"}, {"context", "16"}};
  Settings s = resolve(sources_);
  EXPECT_EQ(s.ff, 128);
  EXPECT_EQ(s.positions, 128);
  sources_.presets = {{"nano", {}}};
  sources_.command_line = {{"context", "32"}};
  EXPECT_EQ(resolve(sources_).positions, 32);
}

TEST_F(Sources, ContradictionsOnTheCommandLineAreRefused) {
  sources_.presets = {{"tiny", {}}, {"small", {}}};
  refused_with("--tiny and --small contradict each other");
  sources_.presets = {{"small", "500"}};
  sources_.command_line = {{"iterations", "600"}};
  refused_with("--iterations and --small 500 contradict each other");
  sources_.command_line = {{"preset", "tiny"}};
  refused_with("--preset and --small contradict each other");
  sources_.command_line = {{"heads", "3"}};
  refused_with("--heads 2 or 4");
}

TEST_F(Sources, MistakesInTheFileAreNamedWithTheirLine) {
  file("layers = 2\nlyers = 3\n");
  refused_with("run.toml line 2: there is no setting 'lyers'; did you mean 'layers'?");
  file("layers = 2\n\nheads = \"four\"\n");
  refused_with("run.toml line 3: heads is a string; expected a whole number from 1 to 1024");
  file("layers = 2.5");
  refused_with("line 1: layers is a number with a fraction");
  file("tied = 1");
  refused_with("tied is a whole number; expected true or false");
  file("[network]\nlayers = 2");
  refused_with("there is no setting 'network'");
  file("layers = 2\nheads = = 3");
  refused_with("run.toml line 2: ");
  file("layers = 2\nlayers = 3");
  refused_with("run.toml line 2: ");
  file("lr = nan");
  refused_with("line 1: 'nan' is not a number");
  file("layers = 99999999999");
  refused_with("is not a whole number from 1 to 1024");
  file("memory = \"much\"");
  refused_with("is not a size");
  file("layers = [1");
  refused_with("run.toml line 1: ");
  for (const char* key : {"\xff\xfe", "\xc3\xa9", "\xe2\xbc\x80"}) {  // no UTF-8; letters outside ASCII
    file(std::string(key) + " = 1");
    refused_with("run.toml line 1: ");
  }
}

TEST_F(Sources, AFileThatCannotBeReadIsRefused) {
  sources_.config = folder_ + "/none.toml";
  refused_with("cannot read");
  sources_.config = folder_;
  refused_with("not a regular file");
  file(std::string(2 << 20, '#'));
  refused_with("at most 1048576 are expected");
  sources_.config = "/dev/zero";
  refused_with("not a regular file");
}

TEST_F(Sources, MistakesElsewhereAreNamedByWhereTheyWereMade) {
  variables_["PLIMSOLL_LAYERS"] = "two";
  refused_with("PLIMSOLL_LAYERS: 'two' is not a whole number from 1 to 1024");
  variables_ = {{"PLIMSOLL_PRESET", "huge"}};
  refused_with("PLIMSOLL_PRESET: there is no preset 'huge'; choose one of tiny, small");
  variables_ = {};
  sources_.command_line = {{"gemm", "fast"}};
  refused_with("--gemm: 'fast' is not one of auto, native, onednn, cblas, plain");
}

TEST_F(Sources, AResumedRunIsTheSavedOneButForWhatIsSaid) {
  Settings saved = preset("tiny");
  saved.batch = 4, saved.dim = 96, saved.heads = 6, saved.ff = 384, saved.out = "runs/mine",
  saved.resume = "older";
  sources_.presets = {{"tiny", "9000"}};
  sources_.command_line = {{"resume", "runs/mine"}, {"dim", "96"}};
  EXPECT_EQ(resume_path(sources_), "runs/mine");
  Resolved run = trace(sources_, &saved);
  EXPECT_EQ(run.settings.iterations, 9000);
  EXPECT_EQ(run.settings.resume, "runs/mine");
  EXPECT_EQ(run.settings.batch, 4);
  EXPECT_EQ(run.origins.at("batch").where, "checkpoint");
  EXPECT_FALSE(first_difference(saved, run.settings));

  sources_.presets = {{"small", {}}};
  EXPECT_EQ(first_difference(saved, resolve(sources_, &saved)).value(),
            "preset is tiny in the checkpoint and small here");
}

TEST_F(Sources, WhatToResumeIsKnownBeforeTheRestMakesSense) {
  sources_.command_line = {{"heads", "6"},
                           {"resume", "x"}};  // 128 / 6 is not whole, but the checkpoint may have 384
  EXPECT_EQ(resume_path(sources_), "x");
}

}  // namespace
}  // namespace plimsoll
