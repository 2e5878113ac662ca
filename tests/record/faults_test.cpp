// The record under failures: kills, full disks, concurrent readers; and that it never calls malloc.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "platform/allocations.hpp"
#include "record/folder.hpp"
#include "record/metrics_file.hpp"
#include "record/run_reader.hpp"
#include "record/run_record.hpp"
#include "record/sqlite_heap.hpp"

namespace plimsoll {

namespace {

std::string integrity(const std::filesystem::path& path) {
  sqlite3* database = nullptr;
  std::string answer = "cannot open";
  if (sqlite3_open(path.c_str(), &database) == SQLITE_OK)
    sqlite3_exec(
        database, "PRAGMA integrity_check",
        [](void* to, int, char** values, char**) {
          *static_cast<std::string*>(to) = values[0];
          return 0;
        },
        &answer, nullptr);
  sqlite3_close(database);
  return answer;
}

size_t resident_bytes() {
  size_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

void write_everything(RunRecord& record, int64_t process, int64_t i) {
  record.step({.step = i, .loss = 3.0 / double(i + 1), .learning_rate = 1e-3, .gradient_norm = 1});
  record.memory(
      {.step = i, .rss = 1'000'000 + (i * 7919) % 100'000, .pss = 900'000 + i % 977, .available = 5'000'000});
  record.process_sample(
      {.process = process, .rss = 500'000 + i % 1000, .pss = 400'000 + i % 991, .threads = 4, .cpu = 0.1});
  if (i % 100 == 0) record.phase(i % 200 ? "train" : "validate");
  if (i % 1000 == 0) record.event("test", "something happened");
}

}  // namespace

TEST(RecordWeather, NoMallocInTheLoopWithCommitsCheckpointsAndThinning) {
  if (!allocations_counted()) GTEST_SKIP() << "a sanitizer brings its own malloc";
  test::Folder folder;
  const size_t before = resident_bytes();
  RunRecord record = RunRecord::create(folder.path / "run.db", {.max_bytes = 2'000'000});
  MetricsFile metrics(folder.path / "metrics.jsonl");
  const int64_t process = record.process({.pid = 1, .name = "p"});
  for (int64_t i = 0; i < 100; ++i) write_everything(record, process, i);
  const uint64_t mallocs_before = allocations();
  for (int64_t i = 100; i < 34'000; ++i) {
    write_everything(record, process, i);
    if (i % 10 == 0) metrics.step({.step = i, .time = record.now(), .loss = 1.25});
  }
  const uint64_t mallocs = allocations() - mallocs_before;
  const size_t after = resident_bytes();
  const SqliteHeapUse heap = sqlite_heap_use();
  EXPECT_EQ(mallocs, 0u);
  EXPECT_EQ(record.error(), "");
  EXPECT_TRUE(heap.active);
  EXPECT_EQ(heap.refused, 0u);
  RecordProperty("heap_bytes", std::to_string(heap.bytes));
  RecordProperty("heap_high_water", std::to_string(heap.high_water));
  RecordProperty("resident_growth", std::to_string(after - before));
  EXPECT_LT(heap.high_water, 2'000'000u);
  EXPECT_LT(after - before, 4'000'000u);                                 // SQLite's own code included
  EXPECT_LT(RunReader(folder.path / "run.db").steps().size(), 34'000u);  // it did thin
}

TEST(RecordWeather, KilledInTheMiddleTheFileIsWholeUpToTheLastCommit) {
  test::Folder folder;
  for (int round = 0; round < 8; ++round) {
    const auto path = folder.path / ("run" + std::to_string(round) + ".db");
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      RunRecord record = RunRecord::create(path, {.max_bytes = 600'000, .rows_per_commit = 100});
      const int64_t process = record.process({.pid = 1, .name = "p"});
      for (int64_t i = 1;; ++i) {
        write_everything(record, process, i);
        if (i % 200 == 0) {
          record.commit();
          if (write(pipe_ends[1], &i, sizeof i) != sizeof i) _exit(1);
        }
      }
    }
    close(pipe_ends[1]);
    int64_t committed = 0, told = 0;
    while (committed < 400 * (1 + round * 4) && read(pipe_ends[0], &told, sizeof told) == sizeof told)
      committed = told;
    usleep(static_cast<useconds_t>(300 * round));
    kill(child, SIGKILL);
    while (read(pipe_ends[0], &told, sizeof told) == sizeof told) committed = told;
    waitpid(child, nullptr, 0);
    close(pipe_ends[0]);
    {
      RunReader reader(path);
      const auto steps = reader.steps();
      ASSERT_FALSE(steps.empty());
      EXPECT_GE(steps.back().step, committed);
      EXPECT_EQ(reader.run().kind, "train");
    }
    EXPECT_EQ(integrity(path), "ok");
    RunRecord again = RunRecord::resume(path, {}, committed);
    again.step({.step = committed + 1});
    again.commit();
    EXPECT_EQ(again.error(), "");
  }
}

TEST(RecordWeather, ReadersSeeARunBeingWritten) {
  test::Folder folder;
  const auto path = folder.path / "run.db";
  RunRecord record = RunRecord::create(path, {.max_bytes = 1'000'000, .rows_per_commit = 50});
  const int64_t process = record.process({.pid = 1, .name = "p"});
  record.commit();
  std::atomic<bool> stop{false};
  std::atomic<int> looks{0};
  std::thread reading([&] {
    int64_t last = -1;
    while (!stop) {
      RunReader reader(path);
      const auto steps = reader.steps();
      if (!steps.empty()) {
        EXPECT_GE(steps.back().step, last);
        last = steps.back().step;
      }
      for (const auto& row : reader.memory()) ASSERT_GE(row.rss, 1'000'000);
      ++looks;
    }
  });
  for (int64_t i = 1; i <= 10'000 || looks < 20; ++i) write_everything(record, process, i);
  stop = true;
  reading.join();
  EXPECT_EQ(record.error(), "");
  EXPECT_EQ(record.dropped(), 0u);
}

TEST(RecordWeather, AFileThatMayNotGrowPausesTheRecordAndItRecovers) {
  test::Folder folder;
  const auto path = folder.path / "run.db";
  signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  RunRecord record = RunRecord::create(path, {.rows_per_commit = 50, .retry_seconds = 0.02});
  const int64_t process = record.process({.pid = 1, .name = "p"});
  rlimit tight = old;
  tight.rlim_cur = 300'000;
  setrlimit(RLIMIT_FSIZE, &tight);
  int64_t i = 0;
  while (record.error().empty() && i < 100'000) write_everything(record, process, ++i);
  const std::string message(record.error());
  for (int more = 0; more < 2000; ++more) write_everything(record, process, ++i);
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_NE(message.find("run.db"), std::string::npos) << message;
  EXPECT_NE(message.find("paused"), std::string::npos) << message;
  EXPECT_GT(record.dropped(), 0u);
  const int64_t recovered_after = i;
  while (!record.error().empty() && i < recovered_after + 10'000'000) write_everything(record, process, ++i);
  EXPECT_EQ(record.error(), "");
  record.step({.step = i + 1});
  record.commit();
  RunReader reader(path);
  EXPECT_EQ(reader.steps().back().step, i + 1);
  bool gap_told = false;
  for (const auto& event : reader.events()) gap_told |= event.kind == "record";
  EXPECT_TRUE(gap_told);
  EXPECT_EQ(integrity(path), "ok");
}

TEST(RecordWeather, AFullDiskPausesTheRecordAndItRecovers) {
  test::Folder folder;
  if (mount("none", folder.path.c_str(), "tmpfs", 0, "size=512k") != 0)
    GTEST_SKIP() << "no right to mount a small disk";
  {
    RunRecord record =
        RunRecord::create(folder.path / "run.db", {.rows_per_commit = 50, .retry_seconds = 0.02});
    const int64_t process = record.process({.pid = 1, .name = "p"});
    int64_t i = 0;
    while (record.error().empty() && i < 100'000) write_everything(record, process, ++i);
    EXPECT_NE(record.error(), "");
    mount("none", folder.path.c_str(), "tmpfs", MS_REMOUNT, "size=16m");
    const int64_t from = i;
    while (!record.error().empty() && i < from + 10'000'000) write_everything(record, process, ++i);
    EXPECT_EQ(record.error(), "");
  }
  EXPECT_EQ(integrity(folder.path / "run.db"), "ok");
  EXPECT_GT(RunReader(folder.path / "run.db").steps().size(), 100u);
  umount2(folder.path.c_str(), MNT_DETACH);
}

TEST(RecordWeather, AFinishedFileCanBeReadWhereNothingMayBeWritten) {
  if (geteuid() != 0) GTEST_SKIP() << "no right to mount read-only";
  test::Folder folder;
  { RunRecord::create(folder.path / "run.db", {}).step({.step = 1}); }
  if (mount(folder.path.c_str(), folder.path.c_str(), "none", MS_BIND, nullptr) != 0)
    GTEST_SKIP() << "no right to mount";
  mount("none", folder.path.c_str(), "none", MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr);
  EXPECT_EQ(RunReader(folder.path / "run.db").steps().size(), 1u);
  umount2(folder.path.c_str(), MNT_DETACH);
}

}  // namespace plimsoll
