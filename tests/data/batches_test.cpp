#include "data/batches.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <set>

#include "base/error.hpp"
#include "data/text_corpus.hpp"
#include "platform/allocations.hpp"

namespace plimsoll {
namespace {

// Token i of the whole is i: what a window holds says where it lies.
class CountingCorpus final : public Corpus {
 public:
  CountingCorpus(uint64_t train, uint64_t validation) : train_(train), validation_(validation) {}
  std::string description() const override { return "counting"; }
  std::string fingerprint() const override { return "counting"; }
  const Tokenizer& tokenizer() const override { return tokenizer_; }
  std::optional<uint64_t> tokens(Split split) const override {
    return split == Split::train ? train_ : validation_;
  }
  void window(Split split, uint64_t place, std::span<int32_t> out) const override {
    if (place + out.size() > *tokens(split)) fail("beyond the end");
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<int32_t>(place + i);
  }

 private:
  uint64_t train_, validation_;
  Tokenizer tokenizer_ = Tokenizer::bytes();
};

}  // namespace

TEST(Batches, RowsDoNotDependOnHowTheyAreAskedFor) {
  const GrammarCorpus grammar(1);
  const CountingCorpus counting(1000, 100);
  for (const Corpus* corpus : {static_cast<const Corpus*>(&grammar), static_cast<const Corpus*>(&counting)}) {
    Batches batches(*corpus, 9, 6, 16), again(*corpus, 9, 6, 16);
    std::vector<int32_t> whole(6 * 17), parts(6 * 17), next(6 * 17);
    batches.fill(40, 0, whole);
    again.fill(40, 4, std::span(parts).subspan(4 * 17));
    again.fill(40, 0, std::span(parts).first(3 * 17));
    again.fill(40, 3, std::span(parts).subspan(3 * 17, 17));
    EXPECT_EQ(whole, parts);
    batches.fill(41, 0, next);
    EXPECT_NE(whole, next);
  }
}

TEST(Batches, EveryPlaceIsDrawnAndNoneBeyond) {
  const CountingCorpus corpus(20, 20);
  Batches batches(corpus, 1, 4, 16);
  std::vector<int32_t> tokens(4 * 17);
  std::set<int32_t> starts;
  for (uint64_t step = 0; step < 100; ++step) {
    batches.fill(step, 0, tokens);
    for (int row = 0; row < 4; ++row) starts.insert(tokens[row * 17]);
  }
  EXPECT_EQ(starts, (std::set<int32_t>{0, 1, 2, 3}));
}

TEST(Batches, DifferentSeedsDifferentBatches) {
  const CountingCorpus corpus(100000, 100);
  std::vector<int32_t> a(17), b(17);
  Batches(corpus, 1, 1, 16).fill(0, 0, a);
  Batches(corpus, 2, 1, 16).fill(0, 0, b);
  EXPECT_NE(a, b);
}

TEST(Batches, TextShorterThanAWindowIsRefused) {
  EXPECT_THROW(Batches(CountingCorpus(16, 100), 1, 1, 16), InputError);
  EXPECT_NO_THROW(Batches(CountingCorpus(17, 100), 1, 1, 16));
  EXPECT_THROW(Evaluation::subset(CountingCorpus(100, 16), 16, 4), InputError);
  EXPECT_THROW(Evaluation::whole(CountingCorpus(100, 0), 16, 4), InputError);
  EXPECT_THROW(Batches(CountingCorpus(100, 100), 1, 0, 16), InputError);
  EXPECT_THROW(Batches(CountingCorpus(100, 100), 1, 1, 0), InputError);
}

TEST(Evaluation, TheWholePartIsEachTargetOnce) {
  EXPECT_TRUE(rc::check([] {
    const int context = *rc::gen::inRange(1, 40);
    const auto length = *rc::gen::inRange<uint64_t>(context + 1, 500);
    const CountingCorpus corpus(100, length);
    const Evaluation evaluation = Evaluation::whole(corpus, context, 1);
    std::vector<int32_t> tokens(context + 1);
    int32_t expected = 1;
    for (uint64_t i = 0; i < evaluation.windows(); ++i) {
      const int counted = evaluation.fill(i, tokens);
      RC_ASSERT(counted >= 1 && counted <= context);
      for (int t = 1; t <= counted; ++t) {
        RC_ASSERT(tokens[t - 1] == expected - 1);
        RC_ASSERT(tokens[t] == expected++);
      }
      for (int t = counted + 1; t <= context; ++t) RC_ASSERT(tokens[t] == 0);
    }
    RC_ASSERT(static_cast<uint64_t>(expected) == length);
    RC_ASSERT(evaluation.targets() == length - 1);
  }));
}

TEST(Evaluation, ASubsetIsSpreadEvenly) {
  const CountingCorpus corpus(100, 1001);
  const Evaluation evaluation = Evaluation::subset(corpus, 10, 5);
  ASSERT_EQ(evaluation.windows(), 5u);
  EXPECT_EQ(evaluation.targets(), 50u);
  std::vector<int32_t> tokens(11), starts;
  for (uint64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(evaluation.fill(i, tokens), 10);
    starts.push_back(tokens[0]);
  }
  EXPECT_EQ(starts, (std::vector<int32_t>{0, 247, 495, 742, 990}));
  EXPECT_EQ(Evaluation::subset(corpus, 10, 5000).windows(), 100u);
  EXPECT_EQ(Evaluation::subset(CountingCorpus(100, 11), 10, 5).windows(), 1u);
  EXPECT_EQ(Evaluation::whole(GrammarCorpus(1), 64, 50).targets(), 3200u);
  EXPECT_THROW(evaluation.fill(5, tokens), Error);
}

TEST(Batches, FillingAllocatesNothing) {
  if (!allocations_counted()) GTEST_SKIP() << "a sanitizer owns malloc";
  const std::string path = (std::filesystem::temp_directory_path() / "plimsoll-batches-test.txt").string();
  {
    std::ofstream file(path);
    for (int i = 0; i < 20000; ++i) file << "größer als 中文 😀 " << i << '\n';
  }
  const GrammarCorpus grammar(1);
  const TextCorpus characters(path, Tokenizer::Kind::characters), bytes(path, Tokenizer::Kind::bytes);
  std::filesystem::remove(path);
  for (const Corpus* corpus : {static_cast<const Corpus*>(&grammar), static_cast<const Corpus*>(&characters),
                               static_cast<const Corpus*>(&bytes)}) {
    Batches batches(*corpus, 1, 4, 64);
    const Evaluation evaluation = Evaluation::whole(*corpus, 64, 10);
    std::vector<int32_t> tokens(4 * 65);
    const uint64_t before = allocations();
    ASSERT_GT(before, 0u);
    for (uint64_t step = 0; step < 100; ++step) batches.fill(step, 0, tokens);
    for (uint64_t i = 0; i < evaluation.windows(); ++i) evaluation.fill(i, std::span(tokens).first(65));
    corpus->drop_cached_pages();
    EXPECT_EQ(allocations(), before) << corpus->description();
  }
}

}  // namespace plimsoll
