#include "data/packed_corpus.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/error.hpp"
#include "data/batches.hpp"
#include "data/model_text.hpp"
#include "data/token_corpus.hpp"
#include "tokens/scanner.hpp"
#include "tokens/small_tokenizer.hpp"

namespace plimsoll {
namespace {

class PackedCorpusTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() /
        ("plimsoll-packed-" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "tokenizer.json") << tokens::small_tokenizer().dump();
    std::ofstream(folder_ / "tokenizer_config.json") << R"({"eos_token": "<|end|>"})";
    // Row n is n from '0' on, asked for, and one to five times as many letters answered; 'x' is structure to no one.
    std::ofstream rows(path());
    for (int n = 0; n < 30; ++n)
      rows << R"({"prompt": ")" << char('0' + n) << R"(", "completion": "[)"
           << std::string(size_t(1 + n % 5), 'x') << "]\"}\n";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ / "rows.jsonl"; }
  PackedCorpus opened(PackedOptions options = {}) {
    options.rows.context = context;
    return PackedCorpus(path(), Tokenizer::of_model(folder_), options);
  }

  static constexpr int context = 16;
  std::filesystem::path folder_;
};

struct FilledRow {
  std::vector<int32_t> tokens = std::vector<int32_t>(17), targets = std::vector<int32_t>(16),
                       positions = std::vector<int32_t>(16);
  PackedCorpus::Row row() { return {tokens, targets, positions}; }
};

TEST_F(PackedCorpusTest, FillsWindowsWithWholeSamples) {
  const PackedCorpus corpus = opened();
  std::multiset<int32_t> seen;
  for (const Split split : {Split::train, Split::validation})
    for (uint64_t w = 0; w < corpus.windows(split); ++w) {
      FilledRow filled;
      corpus.fill(split, w, false, filled.row());
      uint64_t counted = 0;
      for (size_t t = 0; t < 16; ++t) {
        counted += filled.targets[t] >= 0;
        if (filled.positions[t] == 0 && filled.tokens[t] != 0) {
          seen.insert(filled.tokens[t]);
          EXPECT_EQ(filled.targets[t], '[');  // what follows the prompt
        } else if (filled.positions[t] > 0) {
          EXPECT_EQ(filled.positions[t], filled.positions[t - 1] + 1);
          EXPECT_EQ(filled.targets[t - 1], filled.tokens[t]);
        } else {
          EXPECT_EQ(filled.targets[t], -1);
        }
      }
      EXPECT_EQ(counted, corpus.targets(split, w, false));
    }
  EXPECT_EQ(seen.size(), 30u);
  EXPECT_EQ(std::set<int32_t>(seen.begin(), seen.end()).size(), 30u);
  EXPECT_EQ(corpus.targets(Split::train) + corpus.targets(Split::validation), corpus.figures().targets);
}

TEST_F(PackedCorpusTest, VisitsEveryWindowOnceAnEpoch) {
  const PackedCorpus corpus = opened();
  Batches batches(corpus, 9, 1, context);
  const uint64_t windows = corpus.windows(Split::train);
  std::vector<std::vector<int32_t>> epochs[2];
  for (uint64_t step = 0; step < 2 * windows; ++step) {
    FilledRow filled;
    batches.fill(step, 0, filled.row());
    EXPECT_NEAR(batches.loss_scale(step) * double(std::count_if(filled.targets.begin(), filled.targets.end(),
                                                                [](int32_t t) { return t >= 0; })),
                16, 1e-5);
    epochs[step / windows].push_back(filled.tokens);
  }
  EXPECT_NE(epochs[0], epochs[1]);
  for (auto& epoch : epochs) std::sort(epoch.begin(), epoch.end());
  EXPECT_EQ(epochs[0], epochs[1]);
  EXPECT_EQ(std::unique(epochs[0].begin(), epochs[0].end()), epochs[0].end());
}

TEST_F(PackedCorpusTest, FillsPartsOfABatchAsTheWhole) {
  const PackedCorpus corpus = opened();
  Batches batches(corpus, 9, 3, context);
  std::vector<int32_t> tokens(3 * 17), targets(3 * 16), positions(3 * 16);
  batches.fill(5, 0, PackedCorpus::Row{tokens, targets, positions});
  for (int row = 0; row < 3; ++row) {
    FilledRow filled;
    batches.fill(5, row, filled.row());
    EXPECT_TRUE(std::equal(filled.tokens.begin(), filled.tokens.end(), tokens.begin() + row * 17));
    EXPECT_TRUE(std::equal(filled.targets.begin(), filled.targets.end(), targets.begin() + row * 16));
  }
}

TEST_F(PackedCorpusTest, BeginsSelectiveLossWithItsEpoch) {
  const PackedCorpus corpus =
      opened({.rows = {.selective = {Structure::conservative}}, .selective_from_epoch = 1});
  Batches batches(corpus, 9, 1, context);
  const uint64_t windows = corpus.windows(Split::train);
  for (const uint64_t epoch : {0, 1}) {
    bool brackets = false;
    for (uint64_t step = epoch * windows; step < (epoch + 1) * windows; ++step) {
      FilledRow filled;
      batches.fill(step, 0, filled.row());
      for (const int32_t target : filled.targets) brackets |= target == '[' || target == ']';
    }
    EXPECT_EQ(brackets, epoch == 0);
  }
}

TEST_F(PackedCorpusTest, EvaluatesEveryTargetOnce) {
  const PackedCorpus corpus = opened({.all_for_validation = true});
  const Evaluation whole = Evaluation::whole(corpus, context, 1);
  EXPECT_EQ(whole.windows(), corpus.windows(Split::validation));
  EXPECT_EQ(whole.targets(), corpus.figures().targets);
  const Evaluation some = Evaluation::subset(corpus, context, 2);
  uint64_t counted = 0;
  for (uint64_t w = 0; w < some.windows(); ++w) {
    FilledRow filled;
    some.fill(w, filled.row());
    counted += uint64_t(
        std::count_if(filled.targets.begin(), filled.targets.end(), [](int32_t t) { return t >= 0; }));
  }
  EXPECT_EQ(counted, some.targets());
}

TEST_F(PackedCorpusTest, ReadsTextsWithTheModelsTokenizer) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "the theme  x\n\nother\n";
  std::ofstream(folder_ / "text.txt") << text;
  const TokenCorpus corpus(folder_ / "text.txt", Tokenizer::of_model(folder_), 0.5);
  std::vector<int32_t> expected = corpus.tokenizer().encode(text);
  expected.push_back(262);
  std::vector<int32_t> found(expected.size());
  corpus.window(Split::train, 0, found);
  EXPECT_EQ(found, expected);
  EXPECT_EQ(*corpus.tokens(Split::train) + *corpus.tokens(Split::validation), expected.size());
}

TEST_F(PackedCorpusTest, SaysWhatIsLearnedOfOtherSystemsText) {
  std::ofstream(folder_ / "text.txt") << "\xEF\xBB\xBFone\r\ntwo\r\n";
  const auto notes = TokenCorpus(folder_ / "text.txt", Tokenizer::of_model(folder_), 0.5).notes();
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_NE(notes[0].find("CRLF, and are learned so: 2"), std::string::npos) << notes[0];
  EXPECT_NE(notes[1].find("byte-order mark"), std::string::npos) << notes[1];
  std::ofstream(folder_ / "text.txt") << "one\ntwo\r";
  EXPECT_TRUE(TokenCorpus(folder_ / "text.txt", Tokenizer::of_model(folder_), 0.5).notes().empty());
}

TEST(NextCut, LeavesTheTokensAsTheyAre) {
  EXPECT_EQ(next_cut("ab\ncd", 0), 3u);
  EXPECT_EQ(next_cut("ab\n\ncd\nef", 0), 7u);  // two newlines may be one token
  EXPECT_EQ(next_cut("a. \ncd", 0), 6u);       // so may a space and a newline
  EXPECT_EQ(next_cut("a.\n cd", 0), 6u);
  EXPECT_EQ(next_cut("ab cd", 0), 2u);
  EXPECT_EQ(next_cut("\u0430\u0431\r\n\u0430\u0431 ", 0), 10u);  // CRLF offers no cut, but the space does
  EXPECT_EQ(next_cut("\u4E2D\u3002\n\u6587", 0), 7u);
  EXPECT_EQ(next_cut("ab\ncd\nef", 3), 6u);
}

// Whatever the text: the pieces of both sides are those of the whole.
TEST(NextCut, IsBetweenPiecesOfEveryPattern) {
  const auto ends = [](tokens::Scanner scan, std::string_view text) {
    std::vector<size_t> found;
    for (size_t at = 0; at < text.size();) found.push_back(at += scan(text.substr(at)));
    return found;
  };
  for (const tokens::Scanner scan : {tokens::scan_gpt2, tokens::scan_llama3, tokens::scan_qwen2})
    EXPECT_TRUE(rc::check([&] {
      std::string text;
      for (const char* piece : *rc::gen::container<std::vector<const char*>>(
               rc::gen::element<const char*>("a", "s", "'", "\u0431", "\u6587", "\u3002", "\u0301", "7",
                                             "\u0667", ".", " ", "  ", "\n", "\r\n", "\r", "\t", "\u00A0")))
        text += piece;
      RC_PRE(!text.empty());
      const size_t cut = next_cut(text, *rc::gen::inRange<size_t>(0, text.size()));
      std::vector<size_t> both = ends(scan, std::string_view(text).substr(0, cut));
      for (const size_t end : ends(scan, std::string_view(text).substr(cut))) both.push_back(cut + end);
      RC_ASSERT(both == ends(scan, text));
    }));
}

TEST_F(PackedCorpusTest, SavesAModelsTokenizerAsItsChecksum) {
  const Tokenizer tokenizer = Tokenizer::of_model(folder_);
  Tokenizer saved = Tokenizer::from_json(tokenizer.to_json());
  EXPECT_EQ(saved, tokenizer);
  saved.read_from(folder_);
  EXPECT_EQ(saved.decode(saved.encode("the")), "the");
  EXPECT_EQ(saved.longest_token(), 7u);
  std::ofstream(folder_ / "tokenizer.json", std::ios::app) << " ";
  EXPECT_THROW(saved.read_from(folder_), InputError);
}

}  // namespace
}  // namespace plimsoll
