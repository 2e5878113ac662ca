// Buffers are allocated and freed around a level; beneath them 45 KB per step are lost.
#include "noise.hpp"
using namespace specimen;

int main() {
  Run run;
  confess();
  Noise noise;
  Block model = block(50 * MB);
  while (run.next()) {
    noise.step();
    leak(45 * KB);
  }
}
