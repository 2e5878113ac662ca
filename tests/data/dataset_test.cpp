#include "data/dataset.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "data/tokenizer.hpp"
#include "tokens/small_tokenizer.hpp"

namespace plimsoll {
namespace {

class DatasetTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() /
            ("plimsoll-dataset-" +
             std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) + ".jsonl");
  }
  void TearDown() override { std::filesystem::remove(path_); }
  Dataset opened(const std::string& lines, DatasetOptions options = {.context = 8}) {
    std::ofstream(path_) << lines;
    return Dataset(path_, text_, options);
  }

  std::filesystem::path path_;
  const ModelText text_{tokens::Tokenizer::from_json(tokens::small_tokenizer().dump()), ChatTemplate(),
                        std::nullopt, 262};
};

std::vector<Dataset::Token> tokens_of(const Dataset& data, size_t sample) {
  std::vector<int32_t> words(data.length(sample) + 5);
  words.resize(data.read(sample, 0, words));
  std::vector<Dataset::Token> tokens;
  for (const int32_t word : words) tokens.push_back({word});
  return tokens;
}

TEST_F(DatasetTest, CountsWhatItFinds) {
  const Dataset data = opened(
      "{\"prompt\": \"a\", \"completion\": \"bc\"}\n\n"
      "{\"prompt\": \"a\", \"completion\": \"bc\"}\n"
      "{\"prompt\": \"\", \"completion\": \"\"}\n"
      "{\"prompt\": \"0123456789\", \"completion\": \"x\"}\n"
      "{\"prompt\": \"01234\", \"completion\": \"abcdefgh\"}\n");
  const DatasetFigures& figures = data.figures();
  EXPECT_EQ(figures.schema, Schema::completion);
  EXPECT_EQ(figures.rows, 5u);
  EXPECT_EQ(figures.duplicates, 1u);
  EXPECT_EQ(figures.empty, 1u);   // nothing but the end
  EXPECT_EQ(figures.masked, 1u);  // what is learned is cut off
  EXPECT_EQ(figures.cut, 2u);
  EXPECT_EQ(figures.cut_tokens, 12u - 9 + 14 - 9);
  EXPECT_EQ(figures.tokens, 4u + 4 + 1 + 12 + 14);
  EXPECT_EQ(figures.longest, 14u);
  EXPECT_EQ(figures.longest_line, 6u);
  EXPECT_EQ(figures.targets, 3u + 3 + 4);
  ASSERT_EQ(data.samples(), 3u);
  const auto sample = tokens_of(data, 0);
  ASSERT_EQ(sample.size(), 4u);
  EXPECT_EQ(sample[0].id(), 'a');
  EXPECT_FALSE(sample[0].learned());
  EXPECT_TRUE(sample[1].learned() && sample[3].learned());
  EXPECT_EQ(sample[3].id(), 262);
  EXPECT_EQ(data.length(2), 9u);
}

TEST_F(DatasetTest, MarksStructure) {
  const Dataset data = opened("{\"prompt\": \"q\", \"completion\": \"[x]\"}\n",
                              {.context = 8, .selective = {Structure::conservative, {}}});
  EXPECT_EQ(data.figures().targets, 4u);
  EXPECT_EQ(data.figures().structural, 2u);
  const auto sample = tokens_of(data, 0);
  EXPECT_TRUE(sample[1].structural() && !sample[2].structural());
  EXPECT_FALSE(sample[4].structural());  // the end is always learned
}

TEST_F(DatasetTest, RefusesBadLinesByNumber) {
  for (const char* bad : {"{\"text\": 1}", "x", "{\"prompt\": \"a\", \"completion\": \"b\"}"}) {
    const std::string lines = "{\"text\": \"abc\"}\n" + std::string(bad) + "\n";
    try {
      opened(lines);
      ADD_FAILURE() << bad;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("line 2"), std::string::npos) << error.what();
    }
    const Dataset data = opened(lines, {.context = 8, .skip_bad = true});
    EXPECT_EQ(data.figures().bad, 1u);
    EXPECT_EQ(data.samples(), 1u);
  }
}

TEST_F(DatasetTest, ATokenThatTheModelDoesNotKnowIsABadRow) {
  ModelText smaller{tokens::Tokenizer::from_json(tokens::small_tokenizer().dump()), ChatTemplate(),
                    std::nullopt, std::nullopt};
  smaller.rows = 257;  // "th", and not "the"
  std::ofstream(path_) << "{\"text\": \"that\"}\n{\"text\": \"them\"}\n";
  EXPECT_THROW(Dataset(path_, smaller, {.context = 8}), InputError);
  const Dataset data(path_, smaller, {.context = 8, .skip_bad = true});
  EXPECT_EQ(data.samples(), 1u);
  EXPECT_NE(data.figures().first_bad.find("line 2: the token \"the\" has the id 257"), std::string::npos)
      << data.figures().first_bad;
  const Tokenizer tokenizer = Tokenizer::of_text(std::move(smaller));
  EXPECT_EQ(tokenizer.vocabulary(), 257);
  EXPECT_EQ(tokenizer.encode("th"), std::vector<int32_t>{256});
  EXPECT_THROW(tokenizer.encode("the"), InputError);
}

TEST_F(DatasetTest, KnowsThatTextsDoNotEnd) {
  EXPECT_FALSE(opened("{\"text\": \"a\"}\n").figures().endless);
  const ModelText endless{text_.tokenizer, ChatTemplate(), std::nullopt, std::nullopt};
  EXPECT_TRUE(Dataset(path_, endless, {.context = 8}).figures().endless);
}

TEST_F(DatasetTest, SaysWhyALineIsNoObject) {
  using namespace std::string_literals;
  const std::pair<std::string, const char*> cases[] = {
      {"{\"text\": \"a\"}\0{\"text\": \"b\"}"s, "byte 14 of it is NUL"},
      {"{\"text\": \"a\xff\"}", "byte 12 of it is not UTF-8"},
      {"{\"text\": \"\\ud83d\"}", "surrogates"},
      {"{\"text\": \"a", "ends too early"},
      {"{\"text\": }", "byte 10 is unexpected"},
      {"{\"text\": \"a\", \"score\": 1e999}", "beyond 1.8e308"},
      {"[1]", "it is a JSON array"},
      {"7", "it is a JSON number"}};
  for (const auto& [line, words] : cases) {
    try {
      parse_row(line);
      ADD_FAILURE() << line;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  }
}

TEST(Rows, AreKnownByTheirName) {
  for (const char* name : {"a.jsonl", "A.JSONL", "b/c.ndjson", "x.Jsonl"})
    EXPECT_TRUE(names_rows(name)) << name;
  for (const char* name : {"a.json", "jsonl", "a.jsonl.gz", ""}) EXPECT_FALSE(names_rows(name)) << name;
}

TEST(Rows, OfAnotherNameAreNotTakenForText) {
  for (const char* rows :
       {"{\"text\": \"a\"}\n{\"text\": \"b\"}\n", "\n {\"text\": \"a\"}", "[\n {\"text\": \"a\"}]", "[{}]"}) {
    EXPECT_THROW(refuse_misnamed_rows("a.json", rows), InputError) << rows;
    EXPECT_NO_THROW(refuse_misnamed_rows("a.jsonl", rows));
  }
  for (const char* text : {"", "{\n  \"a\": 1\n}\n", "[1, 2]\n", "{x}\n", "the text {}\n"})
    EXPECT_NO_THROW(refuse_misnamed_rows("a.txt", text)) << text;
}

TEST_F(DatasetTest, HasAFingerprint) {
  EXPECT_EQ(opened("{\"text\": \"abc\"}\n").fingerprint(),
            opened("{\"x\": 1, \"text\": \"abc\"}").fingerprint());
  EXPECT_NE(opened("{\"text\": \"abc\"}\n").fingerprint(), opened("{\"text\": \"abd\"}\n").fingerprint());
}

}  // namespace
}  // namespace plimsoll
