// Kills a process while it saves: at every operation in turn, and at random moments. What it leaves behind
// can always be resumed.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "checkpoint/fixture.hpp"

namespace plimsoll {
namespace {

// Seen by parent and child.
struct Shared {
  std::atomic<bool> saving;
  std::atomic<uint64_t> durable;  // the newest step whose save had returned
  std::atomic<int> operations, kill_at;
};

class Crash : public testing::Test {
 protected:
  Crash() {
    void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared = new (memory) Shared{};
  }
  ~Crash() override { munmap(shared, sizeof(Shared)); }

  template <typename Child>
  static pid_t start(Child child) {
    pid_t pid = fork();
    if (pid != 0) return pid;
    try {
      child();
    } catch (...) {
      _exit(3);
    }
    _exit(0);
  }
  static Shared* shared;
};
Shared* Crash::shared = nullptr;

TEST_F(Crash, KilledAtAnyOperation) {
  for (bool background : {false, true})
    for (bool again : {false, true}) {  // a new step, or a step saved before
      int killed = 0;
      for (int nth = 1;; ++nth) {
        TemporaryFolder run("/dev/shm/");
        {
          Weights weights;
          CheckpointStore store(run.path);
          weights.prepare(store);
          for (uint64_t step : {10, 20, 30}) ASSERT_EQ(save(store, weights, step, step == 10), "");
        }
        uint64_t last = again ? 30 : 40;
        pid_t child = start([&] {
          Weights weights;
          CheckpointStore store(run.path, 30);
          weights.prepare(store, background);
          shared->operations = 0;
          shared->kill_at = nth;
          set_file_hook([](FileOperation, const char*, size_t*) {
            if (++Crash::shared->operations == Crash::shared->kill_at) raise(SIGKILL);
            return 0;
          });
          if (!save(store, weights, last, true).empty()) _exit(4);
        });
        int status = 0;
        waitpid(child, &status, 0);
        std::vector<std::string> warnings;
        uint64_t step = loaded_step(run.path, 24, &warnings);
        EXPECT_TRUE(step == 30 || step == last) << step;
        EXPECT_TRUE(warnings.empty()) << warnings.front();
        expect_all_whole(run.path);
        // The next run starts from there, sweeps, and goes on.
        Weights weights;
        CheckpointStore store(run.path, step);
        EXPECT_TRUE(store.best_step() == 10u || store.best_step() == last);
        weights.prepare(store);
        EXPECT_EQ(save(store, weights, 50), "");
        EXPECT_EQ(loaded_step(run.path), 50u);
        for (const auto& entry : std::filesystem::directory_iterator(run.path))
          EXPECT_EQ(entry.path().filename().string().rfind("step-", 0), 0u) << entry.path();
        if (WIFEXITED(status)) {
          EXPECT_EQ(WEXITSTATUS(status), 0);
          break;
        }
        ++killed;
      }
      EXPECT_GT(killed, 20);
    }
}

TEST_F(Crash, KilledAtRandomMoments) {
  constexpr int wanted = 60;
  constexpr int64_t rows = 4000;  // large enough that a save takes a while
  TemporaryFolder run;
  std::mt19937 random(1);
  uint64_t resumed = 0;
  int inside = 0;
  for (int kill_number = 0; kill_number < wanted; ++kill_number) {
    shared->saving = false;
    shared->durable = resumed;
    pid_t child = start([&] {
      Weights weights(rows);
      CheckpointStore store(run.path, resumed ? std::optional(resumed) : std::nullopt);
      weights.prepare(store, kill_number % 2 == 1);
      for (uint64_t step = resumed + 1;; ++step) {
        weights.set(step);
        shared->saving = true;
        store.save(step, state_of(step), step % 7 == 0);
        store.wait();
        if (store.take_error()) _exit(4);
        shared->durable = step;
        shared->saving = false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
    // It is left alone until it saves, however slowly it starts; the first one until something is there to resume.
    const auto busy = [&] {
      return resumed ? shared->saving || shared->durable > resumed : shared->durable > 0;
    };
    while (!busy()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(
        std::chrono::microseconds(std::uniform_int_distribution<int>(0, 60'000)(random)));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself with " << WEXITSTATUS(status);
    inside += shared->saving;

    std::vector<std::string> warnings;
    uint64_t step = loaded_step(run.path, rows, &warnings);
    EXPECT_TRUE(warnings.empty()) << warnings.front();
    expect_all_whole(run.path);
    EXPECT_GE(step, shared->durable) << "a save that had returned is gone";
    EXPECT_LE(step, shared->durable + 1);
    resumed = step;
  }
  EXPECT_GE(inside * 3, wanted) << "too few kills fell into a save";
  RecordProperty("killed_inside_a_save", inside);
  EXPECT_LE(steps_in(run.path).size(), 5u);
}

}  // namespace
}  // namespace plimsoll
