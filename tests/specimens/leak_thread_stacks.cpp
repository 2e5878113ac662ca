// Every fifth step starts a loader thread that waits for work that never comes; its stack stays resident.
#include <pthread.h>

#include "specimen.hpp"
using namespace specimen;

int main() {
  Run run;
  confess();
  Block model = block(40 * MB);
  while (run.next()) {
    if (run.step() % 5) continue;
    pthread_t thread;
    pthread_create(
        &thread, nullptr,
        [](void*) -> void* {
          char scratch[200'000];
          touch(scratch, sizeof scratch);
          for (;;) pause();
        },
        nullptr);
  }
  std::_Exit(0);
}
