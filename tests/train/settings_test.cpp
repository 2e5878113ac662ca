#include "train/settings.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "base/error.hpp"
#include "train/settings_table.hpp"

namespace plimsoll {
namespace {

std::string refusal(const Settings& settings) {
  try {
    validate(settings);
  } catch (const InputError& e) {
    EXPECT_EQ(e.code, Exit::usage);
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
    return e.what();
  }
  return "";
}

template <typename F>
Settings with(F&& change) {
  Settings s;
  change(s);
  return s;
}

// The predecessors count 46 K and 422 K with 35 tokens: right only with 128 positions whatever the context.
TEST(Parameters, CountsAreThoseOfThePredecessors) {
  EXPECT_EQ(parameters(preset("tiny"), 35), 46307u);
  EXPECT_EQ(parameters(preset("small"), 35), 422179u);
  EXPECT_NEAR(double(parameters(preset("medium"), 35)), 3.2e6, 0.05e6);
  EXPECT_NEAR(double(parameters(preset("large"), 35)), 19e6, 0.5e6);
}

TEST(Parameters, Gpt2HasTheWellKnownCount) {
  EXPECT_EQ(parameters(preset("gpt2"), 50257), 124439808u);
  EXPECT_EQ(parameters(preset("baby"), 65), 10770816u);
}

TEST(Presets, AllAreValidAndFeedForwardIsFourWidthsButForTiny) {
  EXPECT_EQ(preset_names(),
            (std::vector<std::string>{"tiny", "small", "medium", "large", "nano", "baby", "gpt2"}));
  for (const std::string& name : preset_names()) {
    Settings s = preset(name);
    EXPECT_EQ(refusal(s), "") << name;
    EXPECT_EQ(s.ff, name == "tiny" ? 128 : 4 * s.dim) << name;
    EXPECT_DOUBLE_EQ(s.min_lr, s.min_lr > 0 ? s.lr / 10 : 0) << name;
  }
  EXPECT_EQ(preset("small"), Settings{});
  EXPECT_THROW(preset("huge"), InputError);
}

TEST(Presets, NanoIsAsPeopleKnowIt) {
  Settings s = preset("nano");
  EXPECT_EQ(s.layers, 4);
  EXPECT_EQ(s.heads, 4);
  EXPECT_EQ(s.dim, 128);
  EXPECT_EQ(s.context, 64);
  EXPECT_EQ(s.positions, 64);
  EXPECT_EQ(s.batch, 12);
  EXPECT_EQ(s.iterations, 2000);
  EXPECT_EQ(s.warmup, 100);
  EXPECT_EQ(s.lr, 3e-3);
  EXPECT_EQ(s.min_lr, 0);
  EXPECT_EQ(s.beta2, 0.99);
  EXPECT_EQ(s.weight_decay, 0.1);
  EXPECT_EQ(s.dropout, 0);
  EXPECT_TRUE(s.tied);
  EXPECT_FALSE(s.head_bias);
}

TEST(Validate, HeadsMustDivideTheWidthAndTheMessageSaysWhichDo) {
  std::string text = refusal(with([](Settings& s) { s.heads = 3; }));
  EXPECT_NE(text.find("--heads 2 or 4"), text.npos) << text;
  text = refusal(with([](Settings& s) { s.heads = 1000; }));
  EXPECT_NE(text.find("--heads 128"), text.npos) << text;
  text = refusal(with([](Settings& s) { s.dim = 7, s.heads = 2; }));
  EXPECT_NE(text.find("--heads 1 or 7"), text.npos) << text;
}

TEST(Validate, WhatCannotBeARunIsRefused) {
  const double nan = std::nan(""), infinite = std::numeric_limits<double>::infinity();
  std::vector<std::function<void(Settings&)>> changes = {
      [](Settings& s) { s.layers = 0; },
      [](Settings& s) { s.dim = -128; },
      [](Settings& s) { s.heads = 0; },
      [](Settings& s) { s.context = 0; },
      [](Settings& s) { s.context = 129; },  // more than positions
      [](Settings& s) { s.ff = 0; },
      [](Settings& s) { s.vocab = -1; },
      [](Settings& s) { s.batch = 0; },
      [](Settings& s) { s.accumulate = 0; },
      [](Settings& s) { s.iterations = 0; },
      [](Settings& s) { s.warmup = -1; },
      [](Settings& s) { s.lr = -1e-3; },
      [=](Settings& s) { s.lr = nan; },
      [=](Settings& s) { s.lr = infinite; },
      [](Settings& s) { s.min_lr = 1; },
      [](Settings& s) { s.dropout = 1; },
      [](Settings& s) { s.dropout = -0.1; },
      [](Settings& s) { s.beta1 = 1; },
      [=](Settings& s) { s.beta2 = nan; },
      [](Settings& s) { s.epsilon = 0; },
      [](Settings& s) { s.clip = -1; },
      [](Settings& s) { s.weight_decay = -1; },
      [](Settings& s) { s.gemm = "fast"; },
      [](Settings& s) { s.gemm = ""; },
      [](Settings& s) { s.tokenizer = "words"; },
      [](Settings& s) { s.tokenizer = "bytes", s.vocab = 100; },
      [](Settings& s) { s.keep = 0; },
      [](Settings& s) { s.out = std::string("a\0b", 3); },
      [](Settings& s) { s.memory = "much"; },
      [](Settings& s) { s.preset = "huge"; },
      [](Settings& s) { s.batch = 1048576, s.context = s.positions = 1048576; },
  };
  for (size_t i = 0; i < changes.size(); ++i) EXPECT_NE(refusal(with(changes[i])), "") << i;
}

TEST(Validate, WhatIsUnusualButPossibleIsNot) {
  EXPECT_EQ(refusal(with([](Settings& s) { s.warmup = 20000; })), "");
  EXPECT_EQ(refusal(with([](Settings& s) { s.lr = s.min_lr = 0; })), "");
  EXPECT_EQ(refusal(with([](Settings& s) { s.clip = 0, s.prompt = "two\nlines"; })), "");
  EXPECT_EQ(refusal(with([](Settings& s) { s.memory = "50%"; })), "");
}

TEST(Table, NamesAreUniqueAndEveryFieldIsInIt) {
  std::set<std::string> names;
  for (const Setting& setting : settings_table())
    EXPECT_TRUE(names.insert(setting.name).second) << setting.name;
  EXPECT_EQ(names.size(), 81u);
  EXPECT_EQ(find_setting("eval_every")->flag(), "--eval-every");
  EXPECT_EQ(find_setting("eval_every")->environment(), "PLIMSOLL_EVAL_EVERY");
}

RC_GTEST_PROP(Table, NumbersComeBackFromTheirTextAsTheSameBits, (double value)) {
  Settings s, back;
  s.lr = std::fmod(std::fabs(value), 1000.0);
  assign(*find_setting("lr"), back, text_of(*find_setting("lr"), s), "lr");
  RC_ASSERT(back.lr == s.lr);
}

RC_GTEST_PROP(Table, AnyTextIsReadOrRefused, (std::string text, uint8_t row)) {
  const Setting& setting = settings_table()[row % settings_table().size()];
  Settings s;
  try {
    assign(setting, s, text, "here");
    check(setting, s, "here");
  } catch (const InputError& e) {
    RC_ASSERT(std::string(e.what()).starts_with("here: "));
  }
}

TEST(FirstDifference, NamesWhatMustAgreeAndLetsTheRestChange) {
  Settings a, b;
  EXPECT_FALSE(first_difference(a, b));
  b.iterations = 20000, b.out = "elsewhere", b.threads = 1, b.log_every = 7, b.data = "moved.txt";
  EXPECT_FALSE(first_difference(a, b));
  b.vocab = 65;
  EXPECT_FALSE(first_difference(a, b));
  a.vocab = 64;
  EXPECT_EQ(first_difference(a, b).value(), "vocab is 64 in the checkpoint and 65 here");
  b = a, b.seed = 2;
  EXPECT_EQ(first_difference(a, b).value(), "seed is 1 in the checkpoint and 2 here");
  b = a, b.lr = std::nextafter(a.lr, 1.0);
  EXPECT_TRUE(first_difference(a, b));
  b = a, b.tokenizer = "bytes";
  EXPECT_TRUE(first_difference(a, b));
}

}  // namespace
}  // namespace plimsoll
