// A wrapper that waits for a server, which forks workers that share its pages: the tree of a real training
// service, scaled down. The server spikes at every "validation"; with --leak it also keeps a little of every
// step, with --leak-worker one of the workers does. Prints its steps.
//
//   server_tree [--leak BYTES_PER_STEP] [--steps N] [--step-ms MS] [--workers N] [--leak-worker
//   BYTES_PER_STEP]
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

namespace {

constexpr size_t megabyte = 1'000'000;
constexpr size_t shared_bytes = 24 * megabyte, own_bytes = 6 * megabyte, base_bytes = 60 * megabyte,
                 spike_bytes = 40 * megabyte;

long leak = 0, leak_worker = 0, steps = 400, step_ms = 25, workers = 20;
// Of the server, seen by its workers: a worker's leak comes with the steps, however unevenly those come.
std::atomic<long>* steps_done = nullptr;

// Pages straight from the kernel, so that giving back is giving back.
char* take(size_t bytes) {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) std::abort();
  std::memset(pages, 1, bytes);
  return static_cast<char*>(pages);
}

[[noreturn]] void work(int index) {
  prctl(PR_SET_NAME, "tree_worker");
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  char* own = take(own_bytes);
  long worked = 0;
  for (unsigned round = 0;; ++round) {
    own[round % own_bytes] += 1;
    for (; leak_worker > 0 && index == 7 && worked < *steps_done; ++worked) take(size_t(leak_worker));
    usleep(useconds_t(step_ms) * 1000);
  }
}

int serve() {
  prctl(PR_SET_NAME, "tree_server");
  take(shared_bytes);  // what the workers will share
  void* page = mmap(nullptr, sizeof *steps_done, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) std::abort();
  steps_done = new (page) std::atomic<long>(0);
  std::vector<pid_t> pool;
  for (int i = 0; i < int(workers); ++i) {
    pid_t pid = fork();
    if (pid == 0) work(i);
    pool.push_back(pid);
  }
  take(base_bytes);
  unsigned long busy = 0;
  for (long step = 1; step <= steps; ++step) {
    if (leak > 0) take(size_t(leak));
    *steps_done = step;
    for (int i = 0; i < 2'000'000; ++i) busy += static_cast<unsigned long>(i) * busy + 1;
    if (step % 40 == 0) {
      char* spike = take(spike_bytes);
      usleep(useconds_t(step_ms) * 4000);
      munmap(spike, spike_bytes);
    }
    std::printf("step %ld/%ld loss %.3f\n", step, steps,
                3.0 - double(step) / double(steps) + double(busy & 1) * 1e-3);
    std::fflush(stdout);
    usleep(useconds_t(step_ms) * 1000);
  }
  for (pid_t pid : pool) kill(pid, SIGTERM);
  while (wait(nullptr) > 0) {
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  for (int i = 1; i + 1 < count; i += 2) {
    std::string name = arguments[i];
    long value = std::atol(arguments[i + 1]);
    if (name == "--leak") leak = value;
    if (name == "--leak-worker") leak_worker = value;
    if (name == "--steps") steps = value;
    if (name == "--step-ms") step_ms = value;
    if (name == "--workers") workers = value;
  }
  pid_t server = fork();
  if (server == 0) return serve();
  int status = 0;
  waitpid(server, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
