// Maps one shard per step and never unmaps it; malloc is not involved.
#include <sys/mman.h>

#include "specimen.hpp"
using namespace specimen;

int main() {
  Run run;
  confess();
  Block model = block(40 * MB);
  while (run.next()) {
    touch(mmap(nullptr, 49'152, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 49'152);  // kept
    lose(49'152);
  }
}
