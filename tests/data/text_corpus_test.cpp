#include "data/text_corpus.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using Kind = Tokenizer::Kind;

class TextCorpusTest : public testing::Test {
 protected:
  TextCorpusTest() {
    std::string pattern = (fs::temp_directory_path() / "plimsoll-data-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~TextCorpusTest() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    const fs::path path = folder_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  fs::path folder_;
};

std::string message_of(auto&& work) {
  try {
    work();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

std::vector<int32_t> read(const Corpus& corpus, Split split, uint64_t place, size_t count) {
  std::vector<int32_t> tokens(count);
  corpus.window(split, place, tokens);
  return tokens;
}

std::string everything(const Corpus& corpus) {
  std::string text;
  for (Split split : {Split::train, Split::validation})
    text += corpus.tokenizer().decode(read(corpus, split, 0, *corpus.tokens(split)));
  return text;
}

// Text of 1- to 4-byte characters whose byte offsets follow no pattern.
std::string mixed_text(size_t characters) {
  const std::string parts[] = {"a", "é", "€", "😀", "\n", "z", "ß", "中"};
  const CounterRng random(5, Stream::shuffle);
  std::string text;
  for (size_t i = 0; i < characters; ++i) text += parts[random.below(i, 8)];
  return text;
}

// Pages of files that are in this process's memory.
size_t resident_file_bytes() {
  std::ifstream statm("/proc/self/statm");
  size_t size = 0, resident = 0, shared = 0;
  statm >> size >> resident >> shared;
  return shared * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

// Pages this process has had mapped so far.
long page_faults() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

}  // namespace

TEST_F(TextCorpusTest, SplitsByTokenPosition) {
  const TextCorpus corpus(write("t", "abcdefghijéé"), Kind::characters);
  EXPECT_EQ(corpus.tokens(Split::train), 10u);
  EXPECT_EQ(corpus.tokens(Split::validation), 2u);
  EXPECT_EQ(corpus.vocabulary(), 11);
  EXPECT_EQ(corpus.tokenizer().decode(read(corpus, Split::validation, 0, 2)), "éé");
  EXPECT_EQ(corpus.tokenizer().decode(read(corpus, Split::train, 8, 2)), "ij");
  EXPECT_THROW(read(corpus, Split::train, 9, 2), Error);
  EXPECT_THROW(read(corpus, Split::validation, ~uint64_t{0}, 2), Error);
  EXPECT_EQ(corpus.floor(64), std::nullopt);

  const TextCorpus bytes(write("t", "abcdefghijéé"), Kind::bytes);
  EXPECT_EQ(bytes.tokens(Split::train), 12u);
  EXPECT_EQ(bytes.vocabulary(), 256);
  EXPECT_EQ(everything(bytes), "abcdefghijéé");
  EXPECT_EQ(TextCorpus(write("t", "abc"), Kind::bytes, 0.0).tokens(Split::validation), 3u);
}

TEST_F(TextCorpusTest, RandomAccessEqualsSequentialDecoding) {
  const std::string text = mixed_text(30000);
  const TextCorpus corpus(write("t", text), Kind::characters);
  const auto all = corpus.tokenizer().encode(text);
  ASSERT_EQ(*corpus.tokens(Split::train) + *corpus.tokens(Split::validation), all.size());
  EXPECT_TRUE(rc::check([&] {
    const auto split = *rc::gen::element(Split::train, Split::validation);
    const size_t available = *corpus.tokens(split);
    const auto place = *rc::gen::inRange<size_t>(0, available);
    const auto count = *rc::gen::inRange<size_t>(0, std::min<size_t>(available - place, 6000) + 1);
    const auto from = all.begin() + static_cast<ptrdiff_t>(
                                        place + (split == Split::train ? 0 : *corpus.tokens(Split::train)));
    RC_ASSERT(read(corpus, split, place, count) ==
              std::vector<int32_t>(from, from + static_cast<ptrdiff_t>(count)));
  }));
  // Around every entry of the sparse index.
  for (size_t entry = 0; entry + 4097 < *corpus.tokens(Split::train); entry += 4096)
    for (size_t place : {entry, entry + 1, entry + 4095})
      EXPECT_EQ(read(corpus, Split::train, place, 3),
                std::vector<int32_t>(all.begin() + place, all.begin() + place + 3));
}

TEST_F(TextCorpusTest, ADirectoryIsItsFilesInOrder) {
  write("b.txt", "zwei €");
  write("a.txt", "eins ");
  write("c.txt", "");
  write("d.txt", " drei");
  fs::create_directory(folder_ / "below");
  write("below/e.txt", "not read");
  const TextCorpus corpus(folder_.string(), Kind::characters, 1.0);
  EXPECT_EQ(everything(corpus), "eins zwei € drei");
  for (size_t place = 0; place < 14; ++place)
    EXPECT_EQ(corpus.tokenizer().decode(read(corpus, Split::train, place, 2)).size() >= 2, true);
  EXPECT_EQ(corpus.tokenizer().decode(read(corpus, Split::train, 3, 10)), "s zwei € d");
}

TEST_F(TextCorpusTest, BadDataIsRefusedInOneLine) {
  auto open = [](const std::string& path, Kind kind = Kind::characters) {
    return message_of([&] { TextCorpus(path, kind); });
  };
  EXPECT_NE(open((folder_ / "none").string()).find("No such file"), std::string::npos);
  EXPECT_NE(open(write("empty", "")).find("is empty"), std::string::npos);
  EXPECT_NE(open("/dev/null").find("not a regular file"), std::string::npos);
  fs::create_directory(folder_ / "hollow");
  EXPECT_NE(open((folder_ / "hollow").string()).find("no regular files"), std::string::npos);

  const std::string latin = write("latin", "caf\xE9 au lait");
  EXPECT_NE(open(latin).find("not UTF-8 at byte 3"), std::string::npos) << open(latin);
  EXPECT_NE(open(latin).find("--tokenizer bytes"), std::string::npos);
  EXPECT_EQ(open(latin, Kind::bytes), "no error");
  EXPECT_NE(open(write("cut", "na\xC3")).find("not UTF-8 at byte 2"), std::string::npos);
  // A bad byte, and a good character, across the stride of the opening pass.
  const std::string filler((1 << 20) - 1, 'x');
  EXPECT_NE(open(write("far", filler + "é\xFF")).find("not UTF-8 at byte 1048577"), std::string::npos);
  EXPECT_EQ(open(write("across", filler + "éx")), "no error");

  const std::string secret = write("secret", "text");
  fs::permissions(secret, fs::perms::none);
  if (::geteuid() != 0) {
    EXPECT_NE(open(secret).find("Permission denied"), std::string::npos);
  }
}

TEST_F(TextCorpusTest, AKnownTokenizerIsKeptTo) {
  const Tokenizer tokenizer = Tokenizer::characters({U'a', U'b', U'é'});
  const TextCorpus corpus(write("t", "bébé"), tokenizer, 0.0);
  EXPECT_EQ(read(corpus, Split::validation, 0, 4), (std::vector<int32_t>{1, 2, 1, 2}));
  const std::string path = write("u", "béc");
  const std::string message = message_of([&] { TextCorpus(path, tokenizer); });
  EXPECT_NE(message.find("'c' (U+0063) at byte 3"), std::string::npos) << message;
}

TEST_F(TextCorpusTest, TheFingerprintFollowsTheContent) {
  const std::string path = write("t", "some text");
  const std::string before = TextCorpus(path, Kind::characters).fingerprint();
  EXPECT_EQ(TextCorpus(path, Kind::characters).fingerprint(), before);
  write("t", "same text");
  EXPECT_NE(TextCorpus(path, Kind::characters).fingerprint(), before);
}

TEST_F(TextCorpusTest, ALargeTextDoesNotStayInMemory) {
  const std::string path = write("large", std::string(48'000'000, 'x') + "y");
  const size_t before = resident_file_bytes();
  const TextCorpus corpus(path, Kind::characters);
  EXPECT_LT(resident_file_bytes(), before + 2'000'000);
  const CounterRng random(1, Stream::windows);
  std::vector<int32_t> window(65);
  for (uint64_t i = 0; i < 3000; ++i) corpus.window(Split::train, random.below(i, 43'000'000), window);
  EXPECT_LT(resident_file_bytes(), before + 2'000'000);
}

TEST_F(TextCorpusTest, WindowsOfALargeTextTouchNoPages) {
  fs::create_directory(folder_ / "many");
  for (int i = 0; i < 100; ++i) write(fmt::format("many/{:02}", i), std::string(50'000, char('a' + i % 26)));
  write("one", std::string(5'000'000, 'x'));
  write("wide", mixed_text(2'500'000));
  for (const char* name : {"one", "wide", "many"}) {
    const TextCorpus corpus((folder_ / name).string(), Kind::characters);
    const CounterRng random(1, Stream::windows);
    std::vector<int32_t> window(33);
    const auto read_some = [&](uint64_t from, uint64_t to) {
      for (uint64_t i = from; i < to; ++i)
        corpus.window(Split::train, random.below(i, *corpus.tokens(Split::train) - 33), window);
    };
    read_some(0, 10);
    const long before = page_faults();
    read_some(10, 2010);
    EXPECT_LT(page_faults() - before, 20) << name;
  }
}

TEST_F(TextCorpusTest, FilesThatAreRemovedCanBeReadOn) {
  fs::create_directory(folder_ / "many");
  for (int i = 0; i < 100; ++i) write(fmt::format("many/{:02}", i), std::string(50'000, char('a' + i % 26)));
  const TextCorpus corpus((folder_ / "many").string(), Kind::characters);
  fs::remove(folder_ / "many/03");
  write("many/new", std::string(50'000, '!'));
  fs::rename(folder_ / "many/new", folder_ / "many/04");
  EXPECT_EQ(corpus.tokenizer().decode(read(corpus, Split::train, 199'998, 4)), "ddee");
}

TEST_F(TextCorpusTest, LineEndsAndMarksAreNoCharacters) {
  const std::string mixed = mixed_text(20'000);
  std::string windows = "\xEF\xBB\xBF";
  for (const char c : mixed) windows += c == '\n' ? "\r\n" : std::string(1, c);
  const TextCorpus lf(write("lf.txt", mixed), Kind::characters),
      crlf(write("crlf.txt", windows), Kind::characters);
  EXPECT_EQ(everything(crlf), mixed);
  EXPECT_EQ(crlf.tokenizer(), lf.tokenizer());
  EXPECT_EQ(crlf.notes().size(), 2u);
  EXPECT_TRUE(lf.notes().empty());
  for (uint64_t place = 0; place < 17'000; place += 97)
    ASSERT_EQ(read(crlf, Split::train, place, 65), read(lf, Split::train, place, 65)) << place;
  // A model that knows none of them reads such a file; one that was trained on them goes on seeing them.
  EXPECT_EQ(everything(TextCorpus(write("again.txt", windows), lf.tokenizer())), mixed);
  std::vector<char32_t> known = {U'\n', U'\r', U'a', 0xFEFF};
  const TextCorpus old(write("old.txt",
                             "\xEF\xBB\xBF"
                             "a\r\na"),
                       Tokenizer::characters(known));
  EXPECT_EQ(everything(old),
            "\xEF\xBB\xBF"
            "a\r\na");
  EXPECT_TRUE(old.notes().empty());
  // A carriage return alone is a character, and so is everything in bytes.
  EXPECT_EQ(everything(TextCorpus(write("mac.txt", "a\ra\r"), Kind::characters)), "a\ra\r");
  EXPECT_EQ(everything(TextCorpus(write("bytes.txt", windows), Kind::bytes)), windows);
}

TEST_F(TextCorpusTest, LargeTextsAreReadAsSmallOnes) {
  // Above and below what stays in memory, in one file and in more than are kept open.
  const std::string text = mixed_text(2'000'000), ascii(4'500'000, 'x');
  ASSERT_GT(text.size(), 4'000'000u);
  EXPECT_EQ(everything(TextCorpus(write("mixed.txt", text), Kind::characters)), text);
  EXPECT_EQ(everything(TextCorpus(write("bytes.txt", text), Kind::bytes)), text);
  EXPECT_EQ(everything(TextCorpus(write("ascii.txt", ascii), Kind::characters)), ascii);
  fs::create_directory(folder_ / "many");
  std::string whole;
  for (int i = 100; i < 200; ++i) {
    const std::string part = mixed_text(20'000 + size_t(i));
    write(fmt::format("many/{}", i), part);
    whole += part;
  }
  EXPECT_EQ(everything(TextCorpus((folder_ / "many").string(), Kind::characters)), whole);
}

TEST_F(TextCorpusTest, WhoeverWaitsHearsHowFarReadingIs) {
  const std::string path = write("large.txt", std::string(5'000'000, 'x'));
  uint64_t last = 0, calls = 0;
  const TextCorpus corpus(path, Kind::characters, 0.9, [&](uint64_t done, uint64_t total) {
    EXPECT_GT(done, last);
    EXPECT_EQ(total, 5'000'000u);
    last = done;
    ++calls;
  });
  EXPECT_EQ(last, 5'000'000u);
  EXPECT_GE(calls, 4u);
}

}  // namespace plimsoll
