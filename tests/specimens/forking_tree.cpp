// A tree of N processes that each fork short-lived children continuously. Every living process increments one
// counter, so a counter that does not change shows that the whole tree is stopped. forking_tree FILE [N]
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <atomic>

#include "specimen.hpp"

int main(int argc, char** argv) {
  const int count = argc > 2 ? std::atoi(argv[2]) : 40;
  int file = open(argv[1], O_RDWR | O_CREAT, 0600);
  if (argc < 2 || file < 0 || ftruncate(file, 4096) != 0) return 2;
  auto* counter =
      static_cast<std::atomic<uint64_t>*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  // Three wide: the root and its descendants make `count` in all.
  for (int i = 1, own = 0; i < count; i = 3 * own + 1) {
    int first = i;
    for (i = first; i < first + 3 && i < count; ++i)
      if (fork() == 0) {
        own = i;
        break;
      }
    if (own != i) break;
  }
  for (;;) {
    if (pid_t child = fork(); child == 0) {
      ++*counter;
      usleep(2000);
      ++*counter;
      _exit(0);
    } else if (child > 0) {
      ++*counter;
      waitpid(child, nullptr, 0);
    }
    usleep(3000);
  }
}
