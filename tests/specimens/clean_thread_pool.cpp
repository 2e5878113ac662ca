// Loader threads as in leak_thread_stacks.cpp, but joined.
#include <thread>

#include "specimen.hpp"
using namespace specimen;

int main() {
  Run run;
  Block model = block(40 * MB);
  while (run.next()) {
    if (run.step() % 5) continue;
    std::thread([] {
      char scratch[200'000];
      touch(scratch, sizeof scratch);
    }).join();
  }
}
