// Leaks 40 KB at every step: the simplest leak.
#include "specimen.hpp"
using namespace specimen;

int main() {
  Run run;
  confess();
  Block model = block(40 * MB);
  while (run.next()) leak(40 * KB);
}
