// The whole way through a real process: preloaded library, its file, reader, symbols. The specimen says what it holds.
#include "heap/collector.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <tuple>

#include "base/error.hpp"
#include "heap/heap_file_maker.hpp"
#include "heap/idle_process.hpp"
#include "heap/symbols.hpp"

extern char** environ;

namespace plimsoll::heap {
namespace {

struct Ran {
  int status = 0;
  std::string output;
};

// Runs a program under a collector and looks once at the end, so that what counts is what the file kept.
Ran run(Collector& collector, std::vector<std::string> command) {
  std::vector<std::string> words;
  for (char** word = environ; *word; ++word)
    if (std::string_view(*word).substr(0, 11) != "LD_PRELOAD=") words.emplace_back(*word);
  for (const auto& [name, value] : collector.environment()) words.push_back(name + "=" + value);
  std::vector<char*> environment, arguments;
  for (std::string& word : words) environment.push_back(word.data());
  for (std::string& word : command) arguments.push_back(word.data());
  environment.push_back(nullptr);
  arguments.push_back(nullptr);
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  pid_t pid = 0;
  EXPECT_EQ(posix_spawn(&pid, command[0].c_str(), &actions, nullptr, arguments.data(), environment.data()),
            0);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  Ran ran;
  char buffer[4096];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;) ran.output.append(buffer, size_t(got));
  close(ends[0]);
  waitpid(pid, &ran.status, 0);
  collector.look(1);
  return ran;
}

std::string specimen(const std::string& name) {
  return (std::filesystem::path(PLIMSOLL_BINARY).parent_path() / "specimens" / name).string();
}

// Bytes held by the function of this name, wherever it stands in the stack.
double held_by(const Profiled& process, Symbols& symbols, const std::string& function,
               unsigned* line = nullptr) {
  double bytes = 0;
  for (const LiveSite& site : process.held)
    for (const uint32_t number : process.reader->stack(site.site)) {
      const FrameView frame = process.reader->frame(number);
      bool found = frame.function == function;
      if (frame.kind == FrameKind::native) {
        const ModuleView module = process.reader->module(frame.module);
        for (const SourceFrame& source :
             symbols.at(std::string(module.path), module.build_id, frame.address - 1))
          if (source.function == function) {
            found = true;
            if (line) *line = source.line;
          }
      }
      if (found) {
        bytes += double(site.bytes);
        break;
      }
    }
  return bytes;
}

// Four standard deviations of an estimate by Poisson sampling.
double tolerance(double bytes, double rate) { return 4 * std::sqrt(bytes * rate); }

void check_specimen(const std::vector<std::string>& arguments, int expected_status, size_t processes) {
  constexpr uint64_t rate = 64 << 10;
  Collector collector({}, rate);
  std::vector<std::string> command = {specimen("heap_lines")};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const Ran ran = run(collector, command);
  EXPECT_EQ(ran.status, expected_status);
  ASSERT_EQ(collector.processes().size(), processes) << ran.output;
  EXPECT_TRUE(collector.troubles().empty());
  const Profiled& process = **std::max_element(
      collector.processes().begin(), collector.processes().end(),
      [](const auto& one, const auto& other) { return one->held_bytes() < other->held_bytes(); });
  EXPECT_EQ(process.reader->header().dropped, 0u);
  EXPECT_TRUE(process.ended);
  Symbols symbols;
  std::istringstream lines(ran.output);
  std::string function;
  double bytes = 0;
  unsigned true_line = 0;
  int ways = 0;
  while (lines >> function >> bytes >> true_line) {
    ++ways;
    unsigned line = 0;
    const double held = held_by(process, symbols, function, &line);
    EXPECT_NEAR(held, bytes, tolerance(bytes, rate)) << function;
    if (Symbols::missing().empty() && bytes > 0) {
      EXPECT_EQ(line, true_line) << function;
    }
  }
  EXPECT_EQ(ways, 7);
}

TEST(Collector, FindsWhatEachWayOfAllocatingHolds) { check_specimen({"_exit"}, 0, 1); }
TEST(Collector, LosesNothingToSigkill) { check_specimen({"kill"}, SIGKILL, 1); }
TEST(Collector, GivesAForkedChildAFileOfItsOwn) { check_specimen({"_exit", "fork"}, 0, 2); }
TEST(Collector, CountsRightBesideThreadsThatAllocate) { check_specimen({"_exit", "thread"}, 0, 1); }

// A folder lists files in any order: the program that a process runs now is the one with the highest number.
TEST(Collector, TheLastProgramOfAProcessIsTheOneThatLives) {
  for (const std::vector<int>& order : {std::vector{0, 1, 2}, {2, 1, 0}, {1, 2, 0}}) {
    Collector collector;
    for (const int number : order) {
      std::ofstream(fmt::format("{}/{}.{}.heap", collector.folder(), getpid(), number))
          << HeapFileMaker().bytes();
      collector.look(1);
    }
    ASSERT_EQ(collector.processes().size(), 3u);
    for (const auto& process : collector.processes()) EXPECT_EQ(process->ended, process->number != 2);
  }
}

// A process makes its file, reserves the space and fills in the beginning: a look may come in between.
TEST(Collector, AFileFoundWhileItWasMadeIsReadLater) {
  Collector collector;
  const std::string path = fmt::format("{}/{}.0.heap", collector.folder(), getpid());
  std::ofstream file(path);
  collector.look(1);
  ASSERT_EQ(collector.processes().size(), 1u);
  EXPECT_TRUE(collector.processes()[0]->series.times().empty());
  file << HeapFileMaker().bytes() << std::flush;
  collector.look(2);
  EXPECT_EQ(collector.processes()[0]->series.times().size(), 1u);
}

TEST(Collector, MakesPrivateFilesAndRemovesTheFolder) {
  std::string folder;
  {
    Collector collector;
    folder = collector.folder();
    struct stat info;
    ASSERT_EQ(stat(folder.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700u);
    run(collector, {"/bin/sh", "-c", "stat -c %a \"$PLIMSOLL_HEAP\"/watcher"});
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(Collector, ProgramsStartedAfterTheWatcherIsGoneWriteNothing) {
  Collector living({}, 4096);
  const std::string folder = std::filesystem::temp_directory_path() / "plimsoll-heap-test-gone";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/watcher").close();  // there, but nobody holds it
  run(living, {"/usr/bin/env", "PLIMSOLL_HEAP=" + folder, specimen("heap_lines"), "_exit"});
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  std::filesystem::remove_all(folder);
}

TEST(Collector, RefusesWithoutTheLibrary) {
  const std::string before = getenv("PLIMSOLL_HEAP_LIBRARY");
  setenv("PLIMSOLL_HEAP_LIBRARY", "/nonexistent", 1);
  if (find_preload().empty()) {
    EXPECT_THROW(Collector(), InputError);
  }
  setenv("PLIMSOLL_HEAP_LIBRARY", before.c_str(), 1);
}

// What a program frees while it ends is not what it held; what it frees at work is.
TEST(Collector, ProcessThatEndedIsSeenAsItWasAtWork) {
  for (const auto& [last, expected, time] : {std::tuple(190, 200, 1.0), std::tuple(199, 199, 3.0)}) {
    Collector collector;
    IdleProcess idle;
    write_held(collector, idle.pid, 200);
    collector.look(1);
    write_held(collector, idle.pid, last);
    collector.look(2);
    ASSERT_EQ(collector.processes().size(), 1u);
    EXPECT_EQ(collector.processes()[0]->held_bytes(), uint64_t(last) << 20);  // while it lives, as it is
    idle.end();
    collector.look(3);
    const Profiled& process = *collector.processes()[0];
    EXPECT_TRUE(process.ended);
    EXPECT_EQ(process.held_bytes(), uint64_t(expected) << 20);
    EXPECT_EQ(process.held_time, time);
  }
}

// Taking a program apart may last longer than the looks that are kept; its last step tells when it was at work.
TEST(Collector, AProgramThatTakesLongToEndIsSeenAsItWasAtItsLastStep) {
  for (const bool told : {true, false}) {
    for (const int afterwards : {90, 110}) {
      Collector collector;
      IdleProcess idle;
      write_held(collector, idle.pid, 100);
      if (told) collector.at_work();
      collector.look(1);
      write_held(collector, idle.pid, afterwards);
      double time = 2;
      for (; time < 30; ++time) collector.look(time);
      write_held(collector, idle.pid, 80);
      for (; time < 60; ++time) collector.look(time);
      idle.end();
      collector.look(time);
      // Memory that grew after the last step was no end.
      const int expected = told && afterwards < 100 ? 100 : 80;
      EXPECT_EQ(collector.processes()[0]->held_bytes(), uint64_t(expected) << 20) << told << afterwards;
    }
  }
}

// The look that a last step asks for may come when the program has begun to free what it held.
TEST(Collector, ALookAfterAStepThatIsFollowedByNoneMayHaveMetTheEnd) {
  for (const bool goes_on : {false, true}) {
    Collector collector;
    IdleProcess idle;
    for (const int held : {80, 90, 100, 60}) {
      write_held(collector, idle.pid, held);
      collector.at_work();
      collector.look(held);
    }
    if (goes_on) {
      write_held(collector, idle.pid, 61);
      collector.at_work();
      collector.look(101);
    }
    write_held(collector, idle.pid, 5);
    idle.end();
    collector.look(102);
    EXPECT_EQ(collector.processes()[0]->held_bytes(), uint64_t(goes_on ? 61 : 100) << 20);
  }
}

// A program that allocates little is sampled more finely than asked for, one that allocates much is not.
TEST(Collector, ProgramsThatAllocateLittleAreSampledMoreFinely) {
  const std::string loop =
      "import time\nkept = []\nfor i in range(60):\n    kept.append(bytearray(200_000))\n    "
      "time.sleep(0.02)\n";
  Collector collector({}, 512 << 10);
  run(collector, {"/usr/bin/python3", "-c", loop});
  ASSERT_FALSE(collector.processes().empty());
  const Header& slow = collector.processes().back()->reader->header();
  EXPECT_EQ(slow.rate, 512u << 10);
  // 12 MB in blocks of 200 kB are 19 samples at that rate and 57 at the finest, each more or less by chance; an
  // interpreter adds some of its own.
  EXPECT_GT(slow.samples, 40u);

  // Half a gigabyte at once is 900 samples at that rate, 7,000 at the finest.
  Collector other({}, 512 << 10);
  run(other, {specimen("heap_lines"), "_exit"});
  ASSERT_FALSE(other.processes().empty());
  EXPECT_LT(other.processes().back()->reader->header().samples, 3000u);
}

}  // namespace
}  // namespace plimsoll::heap

int main(int count, char** arguments) {
  setenv("PLIMSOLL_HEAP_LIBRARY", PLIMSOLL_HEAP_LIBRARY, 1);
  testing::InitGoogleTest(&count, arguments);
  return RUN_ALL_TESTS();
}
