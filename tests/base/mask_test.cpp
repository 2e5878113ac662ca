#include "base/mask.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace plimsoll {

using Arguments = std::vector<std::string>;

TEST(Mask, Secrets) {
  const std::vector<std::pair<Arguments, Arguments>> cases = {
      {{"run", "--token", "abc"}, {"run", "--token", "***"}},
      {{"run", "--hf-token=abc"}, {"run", "--hf-token=***"}},
      {{"run", "--api_key", "abc", "--lr", "3"}, {"run", "--api_key", "***", "--lr", "3"}},
      {{"env", "API_KEY=abc", "python"}, {"env", "API_KEY=***", "python"}},
      {{"env", "AWS_SECRET_ACCESS_KEY=abc/def+g="}, {"env", "AWS_SECRET_ACCESS_KEY=***"}},
      {{"git", "https://user:pw@host/x"}, {"git", "https://user:***@host/x"}},
      {{"git", "https://tok123@host/x"}, {"git", "https://***@host/x"}},
      {{"psql", "postgres://u:p:w@h@db/x"}, {"psql", "postgres://u:***@db/x"}},
      {{"curl", "https://h/x?access_token=abc&page=2"}, {"curl", "https://h/x?access_token=***&page=2"}},
      {{"curl", "-H", "Authorization: Bearer abc def"}, {"curl", "-H", "Authorization: ***"}},
      {{"sh", "-c", "export WANDB_API_KEY=abc; python t.py --password 'a b' --x 1"},
       {"sh", "-c", "export WANDB_API_KEY=***; python t.py --password *** --x 1"}},
      {{"x", "hf_abcdefghijklmnopqrstuv"}, {"x", "***"}},
      {{"x", "--clientSecret=abc"}, {"x", "--clientSecret=***"}},
      {{"x", "--password", "--verbose"}, {"x", "--password", "--verbose"}},
  };
  for (const auto& [plain, masked] : cases) EXPECT_EQ(mask_arguments(plain), masked) << plain.back();
}

TEST(Mask, WhatIsNoSecretStays) {
  for (Arguments plain : {Arguments{"python", "train.py", "--max-tokens", "512", "--tokenizer", "gpt2"},
                          Arguments{"x", "--compass=1", "--keys=3", "https://host/a@b", "a@b.c", "key=value"},
                          Arguments{"a", "", "-"}})
    EXPECT_EQ(mask_arguments(plain), plain);
}

RC_GTEST_PROP(Mask, TheSecretNeverComesThrough, ()) {
  auto secret = *rc::gen::container<std::string>(24, rc::gen::inRange('g', 'z'));
  auto before =
      *rc::gen::element<std::string>("--token=", "PASSWORD=", "https://u:", "x API_KEY=", "--auth-token=");
  std::string after = before == "https://u:" ? "@host" : *rc::gen::element<std::string>("", " more", ";x");
  for (const std::string& argument : mask_arguments({"run", before + secret + after}))
    RC_ASSERT(argument.find(secret) == std::string::npos);
}

TEST(Escape, ControlCharactersAndStrangeBytes) {
  EXPECT_EQ(escape("a\nb\x1b[31m\t\x7f"), "a\\nb\\x1b[31m\\t\\x7f");
  EXPECT_EQ(escape("h\xc3\xa9llo"), "h\xc3\xa9llo");
  EXPECT_EQ(escape("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(escape("\xe2\x80\xae"), "\\u202e");  // would turn the line around
  EXPECT_EQ(escape("\xc2\x9b"), "\\u009b");      // a control sequence in one character
}

RC_GTEST_PROP(Escape, NothingThatMovesACursorIsLeft, (std::string text)) {
  for (char c : escape(text)) RC_ASSERT(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
}

TEST(Display, IsCutAtWholeCharacters) {
  std::string shown = display_command(
      {std::string(300, 'a'),
       std::string(90, 'b') + "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"},
      400);
  EXPECT_LE(shown.size(), 403u);
  EXPECT_EQ(escape(shown), shown);
}

}  // namespace plimsoll
