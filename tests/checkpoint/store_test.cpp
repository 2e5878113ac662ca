#include "checkpoint/store.hpp"

#include <sys/mount.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "checkpoint/fixture.hpp"
#include "checkpoint/manifest.hpp"

namespace plimsoll {
namespace {

using Steps = std::vector<uint64_t>;

TEST(Store, RoundTripInBothModes) {
  for (bool background : {false, true}) {
    TemporaryFolder run;
    Weights weights;
    CheckpointStore store(run.path / "a" / "b");
    weights.prepare(store, background);
    EXPECT_EQ(save(store, weights, 7), "");
    EXPECT_EQ(store.last_step(), 7u);
    EXPECT_EQ(loaded_step(run.path / "a/b"), 7u);
    EXPECT_EQ(read_state(run.path / "a/b/step-000007"), state_of(7));
  }
}

TEST(Store, BothModesWriteTheSameBytes) {
  TemporaryFolder run;
  Weights weights;
  for (bool background : {false, true}) {
    CheckpointStore store(run.path / (background ? "background" : "direct"));
    weights.prepare(store, background);
    for (uint64_t step : {1, 2, 1234567}) EXPECT_EQ(save(store, weights, step, step == 2), "");
  }
  for (const char* step : {"step-000001", "step-000002", "step-1234567"})
    for (const char* name : checkpoint_files)
      EXPECT_EQ(read_file(run.path / "direct" / step / name, 1 << 20),
                read_file(run.path / "background" / step / name, 1 << 20))
          << step << name;
}

TEST(Store, ABackgroundSaveKeepsTheValuesOfItsMoment) {
  TemporaryFolder run;
  Weights weights;
  CheckpointStore store(run.path);
  weights.prepare(store, true);
  for (uint64_t step = 1; step <= 20; ++step) {
    weights.set(step);
    store.save(step, state_of(step), false);
    weights.set(step + 500'000);  // training goes on
  }
  store.wait();
  EXPECT_EQ(store.take_error(), std::nullopt);
  EXPECT_EQ(loaded_step(run.path), 20u);
  EXPECT_EQ(loaded_step(run.path / "step-000018"), 18u);
}

TEST(Store, KeepsTheLastThreeAndTheBest) {
  TemporaryFolder run;
  Weights weights;
  {
    CheckpointStore store(run.path);
    weights.prepare(store);
    for (uint64_t step : {10, 20, 30, 40, 50, 60}) EXPECT_EQ(save(store, weights, step, step == 20), "");
    EXPECT_EQ(steps_in(run.path), (Steps{60, 50, 40, 20}));
    EXPECT_EQ(store.best_step(), 20u);
  }
  // The best is known again after a restart, until there is a better one.
  CheckpointStore store(run.path, 60);
  EXPECT_EQ(store.best_step(), 20u);
  EXPECT_EQ(store.last_step(), 60u);
  weights.prepare(store, true);
  EXPECT_EQ(save(store, weights, 70), "");
  EXPECT_EQ(steps_in(run.path), (Steps{70, 60, 50, 20}));
  EXPECT_EQ(save(store, weights, 80, true), "");
  EXPECT_EQ(steps_in(run.path), (Steps{80, 70, 60}));
  EXPECT_EQ(loaded_step(run.path), 80u);
}

TEST(Store, LaterCheckpointsGoOnlyAfterTheFirstNewOneIsDurable) {
  TemporaryFolder run;
  Weights weights;
  {
    CheckpointStore store(run.path);
    weights.prepare(store);
    for (uint64_t step : {10, 20, 30}) EXPECT_EQ(save(store, weights, step, step == 30), "");
  }
  CheckpointStore store(run.path, 10);
  EXPECT_EQ(store.best_step(), std::nullopt);
  EXPECT_EQ(steps_in(run.path), (Steps{30, 20, 10}));
  weights.prepare(store);
  EXPECT_EQ(save(store, weights, 20), "");
  EXPECT_EQ(steps_in(run.path), (Steps{20, 10}));
  EXPECT_EQ(loaded_step(run.path), 20u);
}

TEST(Store, TheSameStepIsReplaced) {
  TemporaryFolder run;
  Weights weights;
  CheckpointStore store(run.path);
  weights.prepare(store);
  EXPECT_EQ(save(store, weights, 10), "");
  weights.set(10);
  store.save(10, "{\"second\": true}", true);
  EXPECT_EQ(store.take_error(), std::nullopt);
  EXPECT_EQ(read_state(run.path / "step-000010"), "{\"second\": true}");
  EXPECT_EQ(store.best_step(), 10u);
  EXPECT_EQ(entries_in(run.path), 1u);
}

int without_exchange(FileOperation operation, const char* name, size_t*) {
  static bool tried = false;
  if (operation != FileOperation::rename || std::strcmp(name, "step-000010") != 0) return 0;
  tried = !tried;
  return tried ? ENOTEMPTY : EINVAL;  // first the plain rename, then the swap
}

TEST(Store, TheSameStepIsReplacedWhereNamesCannotBeSwapped) {
  TemporaryFolder run;
  Weights weights;
  CheckpointStore store(run.path);
  weights.prepare(store);
  EXPECT_EQ(save(store, weights, 10), "");
  static int calls = 0;
  set_file_hook([](FileOperation operation, const char* name, size_t* bytes) {
    if (operation == FileOperation::rename && std::strcmp(name, "step-000010") == 0 && ++calls > 2) return 0;
    return without_exchange(operation, name, bytes);
  });
  store.save(10, "{\"second\": true}", false);
  set_file_hook(nullptr);
  EXPECT_EQ(store.take_error(), std::nullopt);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(read_state(run.path / "step-000010"), "{\"second\": true}");
  EXPECT_EQ(entries_in(run.path), 1u);
}

TEST(Store, LeftoversAreSweptAndOtherFilesAreNot) {
  TemporaryFolder run;
  Weights weights;
  {
    CheckpointStore store(run.path);
    weights.prepare(store);
    EXPECT_EQ(save(store, weights, 10), "");
    EXPECT_EQ(save(store, weights, 20), "");
  }
  std::filesystem::copy(run.path / "step-000010", run.path / ".step-000030.tmp");
  std::filesystem::copy(run.path / "step-000010", run.path / ".step-000010.old");    // its commit had ended
  std::filesystem::rename(run.path / "step-000020", run.path / ".step-000020.old");  // its commit was cut off
  std::filesystem::create_directory(run.path / ".step-1.tmp");
  write_durably(run.path / "run.db", "x");
  EXPECT_EQ(loaded_step(run.path), 10u);
  CheckpointStore store(run.path, 10);
  EXPECT_EQ(steps_in(run.path), (Steps{20, 10}));
  EXPECT_EQ(entries_in(run.path), 4u);
}

TEST(Store, ABusyOrUnusableRunFolderIsRefused) {
  TemporaryFolder run;
  CheckpointStore store(run.path);
  EXPECT_NE(refusal([&] { CheckpointStore second(run.path); }).find("in use by another process"),
            std::string::npos);
  write_durably(run.path / "file", "x");
  EXPECT_NE(refusal([&] { CheckpointStore other(run.path / "file"); }), "");
  EXPECT_NE(refusal([&] { CheckpointStore other(run.path / "file" / "below"); }), "");
  EXPECT_NE(refusal([&] { CheckpointStore other("/proc/1/plimsoll"); }), "");
}

TEST(Store, MistakesAreToldNotThrown) {
  TemporaryFolder run;
  Weights weights;
  CheckpointStore store(run.path);
  store.save(1, "{}", false);
  EXPECT_NE(store.take_error().value_or("").find("prepare()"), std::string::npos);
  weights.prepare(store);
  store.save(1, std::string(1001, ' '), false);
  EXPECT_NE(store.take_error().value_or("").find("1001 bytes, room is for 1000"), std::string::npos);
  EXPECT_THROW(weights.prepare(store), Error);
  EXPECT_EQ(entries_in(run.path), 0u);
}

std::atomic<int> operations, fail_at, fail_with;
int fail_nth(FileOperation, const char*, size_t*) { return ++operations == fail_at ? fail_with.load() : 0; }

// Every single operation of a save fails in turn, in both modes: the error is told, what was there stays, and
// the next save succeeds.
TEST(Store, AnyFailureLeavesTheCheckpointsBeforeIntact) {
  for (bool background : {false, true})
    for (int code : {ENOSPC, EIO}) {
      int told = 0;
      for (int nth = 1;; ++nth) {
        TemporaryFolder run("/dev/shm/");
        Weights weights;
        CheckpointStore store(run.path);
        weights.prepare(store, background);
        for (uint64_t step : {10, 20, 30}) ASSERT_EQ(save(store, weights, step), "");
        operations = 0, fail_at = nth, fail_with = code;
        set_file_hook(fail_nth);
        std::string error = save(store, weights, 40);
        set_file_hook(nullptr);
        std::vector<std::string> warnings;
        uint64_t step = loaded_step(run.path, 24, &warnings);
        EXPECT_TRUE(step == 30 || step == 40) << step;
        EXPECT_TRUE(warnings.empty()) << warnings.front();
        expect_all_whole(run.path);
        if (step == 30) {
          EXPECT_NE(error.find(code == EIO ? "Input/output error" : "No space left on device"),
                    std::string::npos)
              << error;
          EXPECT_NE(error.find("step-000040 was not saved"), std::string::npos) << error;
          EXPECT_EQ(steps_in(run.path), (Steps{30, 20, 10}));
        }
        told += !error.empty();
        EXPECT_EQ(save(store, weights, 50), "");
        EXPECT_EQ(loaded_step(run.path), 50u);
        EXPECT_GE(steps_in(run.path).size(), 3u);
        if (operations < nth) break;  // the save had fewer operations than that
      }
      EXPECT_GT(told, 25);
    }
}

int short_writes(FileOperation, const char*, size_t* bytes) {
  if (bytes) *bytes = std::min<size_t>(*bytes, 77);
  return 0;
}

TEST(Store, ShortWritesAreContinued) {
  TemporaryFolder run;
  Weights weights;
  CheckpointStore store(run.path);
  weights.prepare(store);
  set_file_hook(short_writes);
  EXPECT_EQ(save(store, weights, 3), "");
  set_file_hook(nullptr);
  EXPECT_EQ(loaded_step(run.path), 3u);
}

TEST(Store, SeveralErrorsAreCounted) {
  TemporaryFolder run;
  Weights weights;
  CheckpointStore store(run.path);
  weights.prepare(store, true);
  set_file_hook([](FileOperation operation, const char*, size_t*) {
    return operation == FileOperation::write ? ENOSPC : 0;
  });
  for (uint64_t step : {1, 2, 3}) store.save(step, "{}", false);
  store.wait();
  set_file_hook(nullptr);
  std::string error = store.take_error().value_or("");
  EXPECT_NE(error.find("step-000003"), std::string::npos) << error;
  EXPECT_NE(error.find("the last of 3 failures"), std::string::npos) << error;
  EXPECT_EQ(store.take_error(), std::nullopt);
}

// The order that makes a checkpoint survive a power cut: bytes, then their folder, then the name, then its
// folder, and only then is anything removed.
TEST(Store, EverythingIsSyncedBeforeItIsNamedAndNamedBeforeAnythingGoes) {
  static std::vector<std::pair<FileOperation, std::string>> trace;
  TemporaryFolder run;
  Weights weights;
  CheckpointStore store(run.path, {}, 1);
  weights.prepare(store);
  EXPECT_EQ(save(store, weights, 1), "");
  set_file_hook([](FileOperation operation, const char* name, size_t*) {
    if (trace.empty() || trace.back() != std::pair(operation, std::string(name)))
      trace.emplace_back(operation, name);
    return 0;
  });
  EXPECT_EQ(save(store, weights, 2), "");
  set_file_hook(nullptr);
  using enum FileOperation;
  std::vector<std::pair<FileOperation, std::string>> expected = {{make_folder, ".step-000002.tmp"}};
  for (const char* name : checkpoint_files)
    for (FileOperation operation : {create, write, sync}) expected.emplace_back(operation, name);
  expected.insert(
      expected.end(),
      {{sync, "."}, {rename, "step-000002"}, {sync, "."}, {rename, ".step-000001.tmp"}, {sync, "."}});
  for (const char* name : checkpoint_files) expected.emplace_back(remove, name);
  expected.emplace_back(remove, ".step-000001.tmp");
  EXPECT_EQ(trace, expected);
}

TEST(Store, ARealFullDiskIsSurvived) {
  TemporaryFolder run;
  if (::mount("none", run.path.c_str(), "tmpfs", 0, "size=160k") != 0)
    GTEST_SKIP() << "needs the right to mount: " << std::strerror(errno);
  struct Unmount {
    std::filesystem::path path;
    ~Unmount() { EXPECT_EQ(::umount(path.c_str()), 0); }
  } unmount{run.path};
  {
    Weights weights(256);  // 3 x 16 kB of tensors
    CheckpointStore store(run.path / "run");
    weights.prepare(store, true);
    EXPECT_EQ(save(store, weights, 1), "");
    EXPECT_EQ(save(store, weights, 2), "");
    std::string error = save(store, weights, 3);
    EXPECT_NE(error.find("No space left on device"), std::string::npos) << error;
    EXPECT_EQ(loaded_step(run.path / "run", 256), 2u);
    EXPECT_EQ(entries_in(run.path / "run"), 2u) << "the temporary folder stayed";
    std::filesystem::remove_all(run.path / "run" / "step-000001");
    EXPECT_EQ(save(store, weights, 4), "");
    EXPECT_EQ(loaded_step(run.path / "run", 256), 4u);
  }
}

}  // namespace
}  // namespace plimsoll
