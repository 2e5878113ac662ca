#include "train/progress.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "platform/allocations.hpp"

namespace plimsoll {
namespace {

double fake_time = 0;

// A file that takes what is written, and what it took.
class Page {
 public:
  Page() {
    char name[] = "/tmp/plimsoll-progress-XXXXXX";
    file_ = mkstemp(name);
    unlink(name);
  }
  ~Page() { close(file_); }
  int file() const { return file_; }
  std::string text() const {
    std::string all(static_cast<size_t>(lseek(file_, 0, SEEK_END)), '\0');
    EXPECT_EQ(pread(file_, all.data(), all.size(), 0), static_cast<ssize_t>(all.size()));
    return all;
  }

 private:
  int file_;
};

// What of a line takes columns: an escape sequence runs from ESC to its letter.
std::string without_escapes(const std::string& text) {
  std::string rest;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b')
      i = text.find_first_of("mK", i);
    else
      rest += text[i];
  }
  return rest;
}

class ProgressLine : public testing::Test {
 protected:
  void SetUp() override {
    fake_time = 1000;
    unsetenv("NO_COLOR");
    setenv("LC_ALL", "C.UTF-8", 1);
  }
  ProgressOptions options(ProgressOptions::Style style, int columns = 200) {
    return {.file = page_.file(), .style = style, .columns = columns, .clock = [] { return fake_time; }};
  }
  static ProgressStep step(int iteration, double loss = 3.6711) {
    return {.iteration = iteration,
            .iterations = 10000,
            .loss = loss,
            .reference = 1.25,
            .reference_name = "floor",
            .lr = 2.97e-4,
            .tokens_per_iteration = 64,
            .resident_bytes = 13'100'000,
            .plan_bytes = 12'000'000};
  }
  // Runs to iteration `n` at 100 iterations a second.
  void run(Progress& progress, int n, double per_iteration_loss = 0) {
    for (int i = 1; i <= n; ++i) {
      fake_time += 0.01;
      progress.update(step(i, 3.6711 + per_iteration_loss * (i - n)));
    }
  }
  Page page_;
};

constexpr auto plain = ProgressOptions::Style::plain;
constexpr auto terminal = ProgressOptions::Style::terminal;

TEST_F(ProgressLine, PlainLinesAreThoseTheToolsOfOldRead) {
  Progress progress(options(plain));
  run(progress, 250);
  EXPECT_EQ(page_.text(),
            "Iter   100/10000 | Loss: 3.6711 | LR: 2.97e-04 | Speed: 100.0 it/s | Mem: 13.1 MB\n"
            "Iter   200/10000 | Loss: 3.6711 | LR: 2.97e-04 | Speed: 100.0 it/s | Mem: 13.1 MB\n");
  progress.update(step(10000));
  EXPECT_NE(page_.text().find("Iter 10000/10000"), std::string::npos);
}

TEST_F(ProgressLine, ThePartsOfALossAreSaidWhereThereAreTwo) {
  ProgressStep both = step(100, 2.5);
  both.cross_entropy = 3;
  {
    Progress progress(options(plain));
    progress.update(both);
    EXPECT_EQ(page_.text(),
              "Iter   100/10000 | Loss: 2.5000 | Cross-entropy: 3.0000 | Distrust: -0.5000 | LR: 2.97e-04 | "
              "Speed: 0.0 it/s | Mem: 13.1 MB\n");
  }
  Progress progress(options(terminal));
  progress.update(both);
  EXPECT_NE(page_.text().find("loss 2.5000 → (ce 3.0000 -0.5000)  "), std::string::npos) << page_.text();
}

TEST_F(ProgressLine, AutomaticIsPlainWhereThereIsNoTerminal) {
  Progress progress(options(ProgressOptions::Style::automatic));
  EXPECT_FALSE(progress.live());
}

TEST_F(ProgressLine, SpeedIsThatOfTheLastSeconds) {
  Progress progress(options(plain));
  run(progress, 1000);
  for (int i = 1001; i <= 1100; ++i) {  // ten times slower, for longer than the window
    fake_time += 0.1;
    progress.update(step(i));
  }
  EXPECT_NEAR(progress.iterations_per_second(), 10, 0.01);
}

TEST_F(ProgressLine, ALiveLineSaysItAll) {
  Progress progress(options(terminal));
  run(progress, 500, -0.001);
  EXPECT_EQ(page_.text().find('\n'), std::string::npos);
  progress.finish();
  std::string text = page_.text();
  std::string last = text.substr(text.rfind('\r'));
  EXPECT_EQ(last,
            "\r500/10000  \x1b[32mloss 3.6711 ↓\x1b[0m  floor 1.2500  lr 2.97e-04  100.0 it/s  6400 tok/s  "
            "1m 35s left  "
            "13.1 MB / 12.0 MB planned\x1b[K\n");
  // Five seconds, at most ten redraws each.
  EXPECT_LE(std::count(text.begin(), text.end(), '\r'), 52);
}

TEST_F(ProgressLine, NoColourAndNoUnicodeWhereTheyAreNotWanted) {
  setenv("NO_COLOR", "1", 1);
  setenv("LC_ALL", "C", 1);
  Progress progress(options(terminal));
  run(progress, 500, 0.001);
  progress.finish();
  std::string text = page_.text();
  EXPECT_EQ(text.find("\x1b[3"), text.npos);
  EXPECT_NE(text.find("loss 3.6711 ^"), text.npos) << text.substr(text.rfind('\r'));
  EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) { return c > 0; }));
}

TEST_F(ProgressLine, FitsAnyWidth) {
  for (int columns = 1; columns < 160; ++columns) {
    Page page;
    ProgressOptions narrow = options(terminal, columns);
    narrow.file = page.file();
    fake_time = 0;
    Progress progress(narrow);
    run(progress, 300, -0.001);
    std::string text = page.text(), line = without_escapes(text.substr(text.rfind('\r') + 1));
    auto width = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; });
    EXPECT_LE(width, std::max(columns - 1, 1)) << line;
    EXPECT_GE(width, 1);
    EXPECT_TRUE(columns <= 30 || line.find("loss") != line.npos) << line;
  }
}

TEST_F(ProgressLine, ANoteDoesNotTearTheLine) {
  Progress progress(options(terminal));
  run(progress, 20);
  size_t before = page_.text().size();
  progress.note("sample: once");
  std::string added = page_.text().substr(before);
  EXPECT_TRUE(added.starts_with("\r\x1b[Ksample: once\n\r20/10000")) << added;
}

TEST_F(ProgressLine, NumbersOutOfTheOrdinaryAreSurvived) {
  Progress progress(options(terminal, 400));
  ProgressStep odd = step(1, std::nan(""));
  odd.lr = 1e300, odd.resident_bytes = UINT64_MAX, odd.tokens_per_iteration = UINT64_MAX;
  odd.reference = 1e300;  // three hundred digits are cut, not overrun
  progress.update(odd);
  fake_time += 1;
  odd.iteration = 2;
  progress.update(odd);
  EXPECT_NE(page_.text().find("nan"), std::string::npos);
}

TEST_F(ProgressLine, FollowingARunAllocatesNothing) {
  if (!allocations_counted()) GTEST_SKIP() << "a sanitizer owns malloc";
  for (auto style : {plain, terminal}) {
    Progress progress(options(style));
    run(progress, 100, -0.001);
    uint64_t before = allocations();
    run(progress, 2000, -0.001);
    progress.note("once upon a time there was a line longer than any short string could ever be");
    EXPECT_EQ(allocations(), before) << (style == plain ? "plain" : "terminal");
  }
}

TEST_F(ProgressLine, AClosedFileDoesNotStopTheRun) {
  ProgressOptions closed = options(plain);
  closed.file = -1;
  Progress progress(closed);
  run(progress, 200);
}

}  // namespace
}  // namespace plimsoll
