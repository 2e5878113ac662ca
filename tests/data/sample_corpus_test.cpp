#include "data/sample_corpus.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "data/batches.hpp"
#include "data/sample_stream.hpp"
#include "platform/allocations.hpp"
#include "platform/memory.hpp"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using Kind = Tokenizer::Kind;

class SampleCorpusTest : public testing::Test {
 protected:
  SampleCorpusTest() {
    std::string pattern = (fs::temp_directory_path() / "plimsoll-samples-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~SampleCorpusTest() override { fs::remove_all(folder_); }

  std::string write(const std::string& text) const {
    const fs::path path = folder_ / "samples.jsonl";
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  std::string problem(const std::string& text, SampleOptions options = {}) const {
    try {
      SampleCorpus(write(text), Kind::characters, options);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  }
  fs::path folder_;
};

std::string line(const std::string& text, double authority = .1, double entropy = 6) {
  return nlohmann::json{{"text", text}, {"auth_weight", authority}, {"prov_entropy", entropy}}.dump() + "\n";
}

// Texts of different lengths, none like another.
std::string numbered(int count) {
  std::string all;
  for (int i = 0; i < count; ++i)
    all += line(fmt::format("<{}{}é>", i, std::string(size_t(i) % 7, '.')), .01 * (i % 90), i % 8);
  return all;
}

std::string decoded(const Corpus& corpus, Split split) {
  std::vector<int32_t> tokens(*corpus.tokens(split));
  corpus.window(split, 0, tokens);
  return corpus.tokenizer().decode(tokens);
}

TEST_F(SampleCorpusTest, PartsAreNewlinesAndTextsAndNoneIsInBoth) {
  for (Kind kind : {Kind::characters, Kind::bytes}) {
    const SampleCorpus corpus(write(numbered(200)), kind);
    const std::string train = decoded(corpus, Split::train), held = decoded(corpus, Split::validation);
    EXPECT_EQ(train.front(), '\n');
    EXPECT_EQ(train.back(), '\n');
    EXPECT_EQ(std::count(held.begin(), held.end(), '\n'), 21);  // one of every ten
    for (int i = 0; i < 200; ++i) {
      const std::string text = fmt::format("\n<{}{}é>\n", i, std::string(size_t(i) % 7, '.'));
      EXPECT_EQ((train.find(text) != train.npos) + (held.find(text) != held.npos), 1) << text;
    }
    EXPECT_EQ(corpus.counts().samples, 200u);
    EXPECT_TRUE(corpus.notes().empty());
  }
}

TEST_F(SampleCorpusTest, RandomAccessEqualsReadingInOrder) {
  const SampleCorpus corpus(write(numbered(150)), Kind::characters);
  for (Split split : {Split::train, Split::validation}) {
    const uint64_t count = *corpus.tokens(split);
    std::vector<int32_t> all(count);
    std::vector<float> worth(count);
    corpus.window(split, 0, all);
    corpus.distrust(split, 0, worth);
    EXPECT_TRUE(rc::check([&] {
      const auto place = *rc::gen::inRange<uint64_t>(0, count);
      const auto length = *rc::gen::inRange<uint64_t>(0, count - place + 1);
      std::vector<int32_t> tokens(length);
      std::vector<float> here(length);
      corpus.window(split, place, tokens);
      corpus.distrust(split, place, here);
      RC_ASSERT(std::equal(tokens.begin(), tokens.end(), all.begin() + ptrdiff_t(place)));
      RC_ASSERT(std::equal(here.begin(), here.end(), worth.begin() + ptrdiff_t(place)));
    }));
    std::vector<int32_t> beyond(2);
    EXPECT_THROW(corpus.window(split, count - 1, beyond), Error);
  }
}

TEST_F(SampleCorpusTest, LinesOfEveryKindAreRead) {
  const std::string text = "\xEF\xBB\xBF" + line("one") + "\r\n   \n" +
                           "{\"text\":\"a\\u0062\\n\\ud83d\\ude00\\u0000\"}\r\n" +
                           "{\"meta\":{\"text\":[1,{}]},\"te\\u0078t\":\"two\",\"auth_weight\":null} ";
  const SampleCorpus corpus(write(text), Kind::characters, {.all_for_validation = true});
  EXPECT_EQ(decoded(corpus, Split::validation), std::string("\none\nab\n😀\0\ntwo\n", 18));
  EXPECT_EQ(corpus.counts().without_authority, 2u);
  EXPECT_EQ(corpus.counts().without_entropy, 2u);
  const auto notes = corpus.notes();
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(notes[0], "2 of 3 samples have no auth_weight; it is taken as 0");
  EXPECT_EQ(notes[1], "2 of 3 samples have no prov_entropy; it is taken as 5");
}

TEST_F(SampleCorpusTest, MalformedLinesAreNamedByNumber) {
  const std::map<std::string, std::string> bad = {
      {"{\"text\": 5}", "`text` that is not a string"},
      {"{\"text\": \"\"}", "empty `text`"},
      {"{\"auth_weight\": 0.5}", "has no `text`"},
      {"[1]", "not a JSON object"},
      {"{\"text\": \"a\", \"text\": \"b\"}", "`text` twice"},
      {"{\"text\": \"a\", \"auth_weight\": 1}", "`auth_weight` out of range"},
      {"{\"text\": \"a\", \"auth_weight\": \"1\"}", "`auth_weight` that is not a number"},
      {"{\"text\": \"a\", \"auth_weight\": 01}", "unterminated object"},
      {"{\"text\": \"a\", \"prov_entropy\": -1}", "`prov_entropy` out of range"},
      {"{\"text\": \"a\", \"prov_entropy\": 1e999}", "too large"},
      {"{\"text\": \"a\", \"prov_entropy\": NaN}", "not a number"},
      {"{\"text\": \"a\xff\"}", "not UTF-8"},
      {"{\"text\": \"a\\ud800\"}", "half a surrogate"},
      {std::string("{\"text\": \"a\0\"}", 13), "control character"},
      {"{\"text\": \"a\"} x", "has text after"},
      {"{\"text\": \"a\"", "unterminated"},
      {"{\"text\": \"a", "ends within a string"},
      {"{\"text\": \"a\", \"deep\": " + std::string(100, '[') + std::string(100, ']') + "}",
       "nested too deeply"},
      {"{\"text\": \"a\", \"more\": \"" + std::string(17 << 20, 'x') + "\"}", "longer than 16 MiB"},
  };
  for (const auto& [text, expected] : bad) {
    const std::string all = line("good") + text + "\n" + line("also");
    const std::string said = problem(all);
    EXPECT_NE(said.find("line 2 "), said.npos) << said;
    EXPECT_NE(said.find(expected), said.npos) << said;
    EXPECT_NE(said.find("--skip-bad"), said.npos) << said;
    EXPECT_EQ(said.find('\n'), said.npos);
    const SampleCorpus skipping(write(all), Kind::characters, {.skip_bad = true, .all_for_validation = true});
    EXPECT_EQ(skipping.counts().bad, 1u);
    EXPECT_EQ(decoded(skipping, Split::validation), "\ngood\nalso\n") << expected;
    EXPECT_NE(skipping.notes().at(0).find("1 malformed line skipped; the first: line 2 "), std::string::npos);
  }
  EXPECT_NE(problem("").find("no samples"), std::string::npos);
  EXPECT_NE(problem("\n \n").find("no samples"), std::string::npos);
  EXPECT_NE(problem("x\n", {.skip_bad = true}).find("no samples"), std::string::npos);
}

TEST_F(SampleCorpusTest, AKnownTokenizerIsKeptTo) {
  const std::string path = write(line("ab") + line("aé"));
  const Tokenizer knows = Tokenizer::characters({U'\n', U'a', U'b', U'é'});
  EXPECT_EQ(SampleCorpus(path, knows).tokenizer(), knows);
  EXPECT_THROW(SampleCorpus(path, Tokenizer::characters({U'\n', U'a', U'b'})), InputError);
  EXPECT_THROW(SampleCorpus(path, Tokenizer::characters({U'a', U'b', U'é'})), InputError);
  EXPECT_EQ(SampleCorpus(path, knows).fingerprint(), SampleCorpus(path, Kind::bytes).fingerprint());
}

TEST_F(SampleCorpusTest, TheStreamGivesEverySampleOnceAnEpoch) {
  const SampleCorpus corpus(write(numbered(97)), Kind::characters);
  const uint64_t epoch = *corpus.tokens(Split::train) - 1;
  auto lines = [](const std::string& all) {
    std::multiset<std::string> found;
    std::istringstream in(all);
    for (std::string one; std::getline(in, one);) found.insert(one);
    return found;
  };
  SampleStream stream(corpus, 4, 16);
  std::vector<int32_t> tokens(epoch);
  const std::string order = decoded(corpus, Split::train).substr(1);
  std::set<std::string> orders = {order};
  for (int i = 0; i < 3; ++i) {
    stream.read(tokens, {});
    const std::string text = corpus.tokenizer().decode(tokens);
    EXPECT_EQ(lines(text), lines(order));
    orders.insert(text);
  }
  EXPECT_EQ(orders.size(), 4u);  // each epoch in another order, none in that of the file
}

// Every token of the stream is a target once, and a row goes on where it stopped.
TEST_F(SampleCorpusTest, BatchesCutTheStreamIntoWindows) {
  const SampleCorpus corpus(write(numbered(97)), Kind::characters);
  Batches batches(corpus, 4, 3, 8, {.shuffle_buffer = 16});
  const uint64_t together = batches.steps_together();
  EXPECT_GT(together, 5u);
  SampleStream stream(corpus, 4, 16);
  std::vector<int32_t> tokens(3 * 9), all(2 * 3 * 8 * together);
  stream.read(all, {});
  std::map<int, std::vector<int32_t>> rows;
  std::vector<int32_t> targets;
  for (uint64_t step = 0; step < 2 * together; ++step) {
    batches.fill(step, 0, tokens);
    if (step % together == 0)
      for (auto& [row, read] : rows) targets.insert(targets.end(), read.begin(), read.end());
    if (step % together == 0) rows.clear();
    for (int row = 0; row < 3; ++row) {
      const auto window = std::span(tokens).subspan(size_t(row) * 9, 9);
      if (!rows[row].empty()) {
        EXPECT_EQ(window[0], rows[row].back());
      }
      rows[row].insert(rows[row].end(), window.begin() + 1, window.end());
    }
  }
  for (auto& [row, read] : rows) targets.insert(targets.end(), read.begin(), read.end());
  EXPECT_EQ(targets, all);
}

// A sample longer than a batch would have nothing to be weighed against if the rows were all of it.
TEST_F(SampleCorpusTest, ABatchOfLongSamplesHoldsSeveral) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += line(std::string(1000, char('a' + i % 26)), .01 * (i % 90), i % 8);
  const SampleCorpus corpus(write(text), Kind::bytes);
  Batches batches(corpus, 1, 4, 16, {.distrust_lambda = 1});
  std::vector<int32_t> tokens(4 * 17);
  std::vector<float> weights(4 * 16);
  int alike = 0;
  for (uint64_t step = 0; step < 200; ++step) {
    batches.fill(step, 0, tokens, weights);
    alike += std::set<float>(weights.begin(), weights.end()).size() == 1;
  }
  EXPECT_LT(alike, 5);
}

TEST_F(SampleCorpusTest, TheStepIsTheWholeCursorOfABatch) {
  const SampleCorpus corpus(write(numbered(60)), Kind::bytes);
  auto filled = [&](Batches& batches, uint64_t step) {
    std::vector<int32_t> tokens(4 * 10);
    std::vector<float> weights(4 * 9);
    // In micro-batches of one row, as the trainer may.
    for (int row = 0; row < 4; ++row)
      batches.fill(step, row, std::span(tokens).subspan(row * 10, 10),
                   std::span(weights).subspan(row * 9, 9));
    return std::pair(tokens, weights);
  };
  const SampleBatching how{.shuffle_buffer = 16, .distrust_lambda = 1};
  Batches running(corpus, 4, 4, 9, how);
  std::vector<std::pair<std::vector<int32_t>, std::vector<float>>> all;
  for (uint64_t step = 0; step < 60; ++step) all.push_back(filled(running, step));
  double sum = 0, row = 0;
  for (size_t i = 0; i < 36; ++i) (i < 9 ? row : sum) += all[7].second[i];
  EXPECT_NEAR((sum + row) / 36, 1, 1e-5);  // over the whole batch, not over a row
  EXPECT_GT(std::abs(row / 9 - 1), .01);
  EXPECT_TRUE(rc::check([&] {
    Batches resumed(corpus, 4, 4, 9, how);
    const auto from = *rc::gen::inRange<uint64_t>(0, 60);
    for (uint64_t step = from; step < std::min<uint64_t>(60, from + 3); ++step)
      RC_ASSERT(filled(resumed, step) == all[step]);
    const auto back = *rc::gen::inRange<uint64_t>(0, 60);
    RC_ASSERT(filled(resumed, back) == all[back]);
  }));
}

TEST_F(SampleCorpusTest, ReadingALargeFileTakesNoMemory) {
  std::string text;
  for (int i = 0; i < 60000; ++i)
    text += line(fmt::format("{} {}", i, std::string(size_t(200 + i % 300), 'x')));
  const std::string path = write(text);
  ASSERT_GT(text.size(), 15u << 20);
  text = {};
  text.shrink_to_fit();
  const SampleCorpus corpus(path, Kind::bytes);
  Batches batches(corpus, 1, 8, 256, {.shuffle_buffer = 1000, .distrust_lambda = .5});
  Evaluation evaluation = Evaluation::subset(corpus, 256, 16);
  std::vector<int32_t> tokens(8 * 257);
  std::vector<float> weights(8 * 256);
  batches.fill(0, 0, tokens, weights);
  OwnMemory memory;
  const uint64_t before = memory.resident(), allocated = allocations();
  uint64_t most = 0;
  for (uint64_t step = 1; step < 12000; ++step) {  // more than an epoch
    batches.fill(step, 0, tokens, weights);
    if (step % 1000 == 0)
      for (uint64_t window = 0; window < 16; ++window) evaluation.fill(window, std::span(tokens).first(257));
    if (step % 50 == 0) most = std::max(most, memory.resident());
  }
  if (allocations_counted()) {
    EXPECT_EQ(allocations(), allocated);
  }
  EXPECT_LT(most, before + (4u << 20));
}

// What is drawn from the shuffle buffer lies anywhere in the file: mapping it would cost a page a sample, and giving it back.
TEST_F(SampleCorpusTest, SamplesOfALargeFileAreReadWithoutMappingThem) {
  std::string text;
  for (int i = 0; i < 20000; ++i)
    text += line(fmt::format("{} {}", i, std::string(i == 77 ? 70'000 : size_t(200 + i % 300), 'x')));
  ASSERT_GT(text.size(), 5'000'000u);
  const SampleCorpus corpus(write(text), Kind::bytes);
  std::vector<int32_t> tokens(2000);
  SampleStream stream(corpus, 1, 16);
  stream.read(tokens, {});
  rusage before{}, after{};
  ::getrusage(RUSAGE_SELF, &before);
  for (int i = 0; i < 1000; ++i) stream.read(tokens, {});  // some 5,000 samples of 6 MB
  ::getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_minflt - before.ru_minflt, 1000);
}

}  // namespace
}  // namespace plimsoll
