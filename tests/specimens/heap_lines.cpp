// Holds known bytes by each way of allocating, one function a way, and says so: "function bytes line" for each. Then
// ends as asked: exit, _exit, kill (SIGKILL). With `fork` the work is done in a child, in `thread` by four threads.
//   heap_lines [exit|_exit|kill] [fork] [thread]
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#define WAY extern "C" __attribute__((noinline))

namespace {

constexpr size_t total = 64 << 20;
void* volatile kept;

void keep(void* block, size_t size) {
  std::memset(block, 1, size < 64 ? size : 64);
  kept = block;
}

void freed_again(size_t size) {
  for (size_t i = 0; i < 2 * total / size; ++i) {
    void* block = std::malloc(size);
    keep(block, size);
    std::free(block);
  }
}

}  // namespace

WAY int way_malloc() {
  for (size_t i = 0; i < total / 100; ++i) keep(std::malloc(100), 100);
  return __LINE__ - 1;
}
WAY int way_new() {
  for (size_t i = 0; i < total / 3000; ++i) keep(new char[3000], 3000);
  return __LINE__ - 1;
}
WAY int way_calloc() {
  for (size_t i = 0; i < total / 50000; ++i) keep(std::calloc(5, 10000), 50000);
  return __LINE__ - 1;
}
WAY int way_realloc() {
  for (size_t i = 0; i < total / 4000; ++i) keep(std::realloc(std::malloc(100), 4000), 4000);
  return __LINE__ - 1;
}
WAY int way_aligned() {
  for (size_t i = 0; i < total / 100000; ++i) {
    void* block = nullptr;
    if (posix_memalign(&block, 64, 100000) == 0) keep(block, 100000);
  }
  return __LINE__ - 2;
}
WAY int way_mapping() {
  for (size_t i = 0; i < total / (1 << 20); ++i) {
    // Twice as much is mapped and the second half given back, as programs do that want alignment.
    auto* block = static_cast<char*>(
        mmap(nullptr, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    munmap(block + (1 << 20), 1 << 20);
    keep(block, 64);
  }
  return __LINE__ - 4;
}
WAY int way_freed() {
  freed_again(5000);
  return 0;
}

namespace {

void work() {
  struct {
    const char* name;
    int (*way)();
    size_t bytes;
  } ways[] = {{"way_malloc", way_malloc, total},   {"way_new", way_new, total},
              {"way_calloc", way_calloc, total},   {"way_realloc", way_realloc, total},
              {"way_aligned", way_aligned, total}, {"way_mapping", way_mapping, total},
              {"way_freed", way_freed, 0}};
  for (const auto& way : ways) {
    const int line = way.way();
    std::printf("%s %zu %d\n", way.name, way.bytes, line);
  }
  std::fflush(stdout);
}

void churn() {
  std::vector<void*> blocks(1000);
  for (size_t i = 0; i < 300000; ++i) {
    void*& block = blocks[(i * 7919) % blocks.size()];
    std::free(block);
    block = std::malloc(100 + i % 5000);
  }
  for (void* block : blocks) std::free(block);
}

}  // namespace

int main(int count, char** arguments) {
  std::string end = "exit";
  bool in_child = false, threads = false;
  for (int i = 1; i < count; ++i) {
    const std::string word = arguments[i];
    if (word == "fork")
      in_child = true;
    else if (word == "thread")
      threads = true;
    else
      end = word;
  }
  if (in_child) {
    keep(std::malloc(10 << 20), 64);  // the parent has its own file by now
    const pid_t child = fork();
    if (child != 0) {
      int status = 0;
      waitpid(child, &status, 0);
      return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    }
  }
  std::vector<std::thread> others;
  for (int i = 0; threads && i < 4; ++i) others.emplace_back(churn);
  work();
  for (auto& other : others) other.join();
  if (end == "kill") kill(getpid(), SIGKILL);
  if (end == "_exit") _exit(0);
  return 0;
}
