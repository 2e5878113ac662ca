// Buffers are allocated and freed around a level; nothing is lost.
#include "noise.hpp"
using namespace specimen;

int main() {
  Run run;
  Noise noise;
  Block model = block(50 * MB);
  while (run.next()) noise.step();
}
