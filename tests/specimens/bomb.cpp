// Uses memory as fast as it can be touched and records when each megabyte was reached, so that a test can
// tell from outside when it was stopped. bomb FILE [MEGABYTES] [stubborn]: with `stubborn` it ignores
// SIGTERM.
#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <csignal>
#include <ctime>

#include "specimen.hpp"

int main(int argc, char** argv) {
  const size_t megabytes = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 2000;
  if (argc > 3) std::signal(SIGTERM, SIG_IGN);
  int file = open(argv[1], O_RDWR | O_CREAT, 0600);
  if (argc < 2 || file < 0 || ftruncate(file, off_t(megabytes * sizeof(double))) != 0) return 2;
  auto* times = static_cast<double*>(
      mmap(nullptr, megabytes * sizeof(double), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0));
  for (size_t i = 0; i < megabytes; ++i) {
    void* memory = mmap(nullptr, specimen::MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 3;
    specimen::touch(memory, specimen::MB);
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    times[i] = double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
  }
  for (;;) pause();
}
