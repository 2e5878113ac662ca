#include "tokens/tokenizer.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tokens/small_tokenizer.hpp"

namespace plimsoll::tokens {
namespace {

using nlohmann::json;
using Ids = std::vector<int32_t>;

Tokenizer made(const json& file) { return Tokenizer::from_json(file.dump()); }

// The message a file is refused with.
std::string refusal(const json& file) {
  try {
    made(file);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Tokenizer, JoinsBytes) {
  const Tokenizer tokenizer = made(small_tokenizer());
  EXPECT_EQ(tokenizer.vocabulary(), 263);
  EXPECT_EQ(tokenizer.encode("the the"), (Ids{257, ' ', 257}));  // "t h" comes before "Ġ t"
  EXPECT_EQ(tokenizer.encode("he\n"), (Ids{261, '\n'}));
  EXPECT_EQ(tokenizer.encode("é"), (Ids{0xC3, 0xA9}));
  EXPECT_EQ(tokenizer.encode(""), Ids{});
}

TEST(Tokenizer, GivesTheTextBack) {
  const Tokenizer tokenizer = made(small_tokenizer());
  for (const char* text : {"the theme", "日本\r\n", "<|end|>x<|end|>", "\t 'S"})
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  EXPECT_EQ(tokenizer.decode(Ids{0xC3}), "\xC3");  // half a character is no error
  EXPECT_THROW(tokenizer.decode(Ids{263}), InputError);
  EXPECT_THROW(tokenizer.decode(Ids{-1}), InputError);
}

TEST(Tokenizer, RefusesTextThatIsNotUtf8) {
  const Tokenizer tokenizer = made(small_tokenizer());
  EXPECT_THROW(tokenizer.encode("ab\xFF"), InputError);
  EXPECT_THROW(tokenizer.encode("\xC3"), InputError);
  EXPECT_THROW(tokenizer.encode("123456789\xED\xA0\x80"), InputError);
}

TEST(Tokenizer, FindsSpecialTokensFirst) {
  json file = small_tokenizer();
  file["added_tokens"].push_back({{"id", 263}, {"content", "<|end"}, {"special", true}, {"rstrip", true}});
  file["added_tokens"].push_back({{"id", 264}, {"content", "he"}, {"special", false}, {"single_word", true}});
  // "he" has the id 261 in the vocabulary, so this one is wrong.
  EXPECT_NE(refusal(file).find("disagrees"), std::string::npos);
  file["added_tokens"][2]["id"] = 261;
  const Tokenizer tokenizer = made(file);
  EXPECT_EQ(tokenizer.encode("a<|end|>b"), (Ids{'a', 262, 'b'}));  // the longest
  EXPECT_EQ(tokenizer.encode("<|end \n b"), (Ids{263, 'b'}));
  EXPECT_EQ(tokenizer.encode("the he"), (Ids{257, ' ', 261}));
  file["added_tokens"].push_back({{"id", 264}, {"content", "\n"}, {"special", true}, {"lstrip", true}});
  EXPECT_EQ(made(file).encode("<|end\na\n"),
            (Ids{263, 'a', 264}));  // the first newline belongs to the token before it
  EXPECT_EQ(tokenizer.find_added("<|end|>"), 262);
  EXPECT_EQ(tokenizer.find_added("absent"), std::nullopt);
  EXPECT_TRUE(tokenizer.is_special(263) && !tokenizer.is_special(261));
}

TEST(Tokenizer, ReadsEveryPipeline) {
  json file = small_tokenizer();
  file["pre_tokenizer"] = {{"type", "Sequence"},
                           {"pretokenizers",
                            {{{"type", "Digits"}, {"individual_digits", true}},
                             {{"type", "ByteLevel"}, {"add_prefix_space", false}}}}};
  file["model"]["vocab"]["12"] = 263;
  file["model"]["merges"].push_back({"1", "2"});  // pairs and strings may be mixed
  EXPECT_EQ(made(file).encode("12 the"), (Ids{'1', '2', ' ', 257}));

  file["pre_tokenizer"] = {
      {"type", "Sequence"},
      {"pretokenizers",
       {{{"type", "Split"}, {"pattern", {{"Regex", llama3_pattern}}}, {"behavior", "Isolated"}},
        {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}}}};
  file["normalizer"] = {{"type", "NFC"}};
  file["model"]["ignore_merges"] = true;
  file["post_processor"] = {{"type", "Sequence"},
                            {"processors",
                             {{{"type", "ByteLevel"}},
                              {{"type", "TemplateProcessing"},
                               {"single", {{{"SpecialToken", {{"id", "B"}}}}, {{"Sequence", {{"id", "A"}}}}}},
                               {"special_tokens", {{"B", {{"ids", {262}}}}}}}}}};
  const Tokenizer tokenizer = made(file);
  EXPECT_EQ(tokenizer.encode("12 the", true),
            (Ids{262, 263, 260}));  // " the" is a token though no merge makes it
  EXPECT_EQ(tokenizer.encode("12"), (Ids{263}));
  EXPECT_EQ(tokenizer.encode("e\u0301"), tokenizer.encode("é"));
}

TEST(Tokenizer, AddsASpaceBeforeText) {
  json file = small_tokenizer();
  file["pre_tokenizer"]["add_prefix_space"] = true;
  EXPECT_EQ(made(file).encode("x<|end|> y"), (Ids{' ', 'x', 262, ' ', 'y'}));
}

TEST(Tokenizer, LeavesOutBytesTheVocabularyLacks) {
  json file = small_tokenizer();
  file["model"]["vocab"].erase("x");
  EXPECT_EQ(made(file).encode("axxb"), (Ids{'a', 'b'}));
  file["model"]["unk_token"] = "the";
  EXPECT_EQ(made(file).encode("axxb"), (Ids{'a', 257, 257, 'b'}));
  file["model"]["fuse_unk"] = true;
  EXPECT_EQ(made(file).encode("axxb"), (Ids{'a', 257, 'b'}));
  file["model"]["unk_token"] = "absent";
  EXPECT_NE(refusal(file).find("unk_token"), std::string::npos);
}

// Each change must be refused, naming what it is about.
TEST(Tokenizer, RefusesByName) {
  const struct {
    const char* pointer;
    json value;
    const char* named;
  } cases[] = {
      {"/model/type", "Unigram", "Unigram"},
      {"/model/dropout", 0.1, "dropout"},
      {"/model/byte_fallback", true, "byte_fallback"},
      {"/model/end_of_word_suffix", "</w>", "end_of_word_suffix \"</w>\","},
      {"/model/ignore_merges", "yes", "ignore_merges"},
      {"/model/vocab", json::array(), "vocab"},
      {"/model/vocab/a", uint64_t(1) << 60, "1152921504606846976"},
      {"/model/vocab/a", 4'000'000, "4000000"},
      {"/model/vocab/a", -1, "-1"},
      {"/model/vocab/a", "7", "id"},
      {"/model/vocab/a", json::object(), "\"a\""},
      {"/model/vocab/a", 98, "\"b\""},
      {"/model/merges/0", "th", "merge 1"},
      {"/model/merges/0", "t h e", "merge 1"},
      {"/model/merges/0", "the ", "merge 1"},  // would join a token to itself
      {"/model/merges/0", json::array({"the", ""}), "merge 1"},
      {"/model/merges/0", json::array({"t"}), "merge 1"},
      {"/model/merges/0", json::array({"t", "h", "e"}), "merge 1"},
      {"/model/merges/0", json::array({json::array({"t"}), "h"}), "merge 1"},
      {"/model/merges/0", 7, "merge 1"},
      {"/model/merges/0", "q q", "\"qq\""},
      {"/added_tokens/0/id", 97, "<|end|>"},
      {"/added_tokens/0/id", uint64_t(1) << 60, "1152921504606846976"},
      {"/added_tokens/0/content", "", "content"},
      {"/normalizer", {{"type", "Lowercase"}}, "Lowercase"},
      {"/normalizer", "NFC", "normalizer"},
      {"/pre_tokenizer", {{"type", "Metaspace"}}, "Metaspace"},
      {"/pre_tokenizer",
       {{"type", "Split"}, {"pattern", {{"Regex", "\\w"}}}, {"behavior", "Isolated"}},
       "\\\\w"},
      {"/pre_tokenizer", nullptr, "ByteLevel"},
      {"/post_processor", {{"type", "BertProcessing"}}, "BertProcessing"},
      {"/post_processor",
       {{"type", "TemplateProcessing"}, {"single", {{{"SpecialToken", {{"id", "B"}}}}}}},
       "B"},
      {"/decoder", {{"type", "Metaspace"}}, "Metaspace"},
      {"/decoder", nullptr, "null"},
  };
  for (const auto& c : cases) {
    json file = small_tokenizer();
    file[json::json_pointer(c.pointer)] = c.value;
    const std::string message = refusal(file);
    EXPECT_NE(message.find(c.named), std::string::npos) << c.pointer << " " << c.value << ": " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
}

TEST(Tokenizer, RefusesWhatIsNoTokenizer) {
  EXPECT_THROW(Tokenizer::from_json(""), InputError);
  EXPECT_THROW(Tokenizer::from_json("[]"), InputError);
  const std::string whole = small_tokenizer().dump();
  EXPECT_THROW(Tokenizer::from_json(whole.substr(0, whole.size() - 1)), InputError);
  EXPECT_THROW(Tokenizer::from_json(std::string(1'000'000, '[')), InputError);
  EXPECT_THROW(Tokenizer::load("/nowhere"), InputError);
}

}  // namespace
}  // namespace plimsoll::tokens
