// The parent is large and stable, its child small and leaking.
#include <sys/wait.h>

#include "specimen.hpp"
using namespace specimen;

int main() {
  const pid_t child = fork();
  Run run;
  if (child == 0) {
    confess();
    Block own = block(10 * MB);
    while (run.next()) leak(40 * KB);
    _exit(0);
  }
  Block model = block(50 * MB);
  while (run.next()) continue;
  waitpid(child, nullptr, 0);
}
