// Validation adds 70 % briefly every two seconds; beneath the spikes 25 KB per step are lost.
#include "specimen.hpp"
using namespace specimen;

int main() {
  Run run;
  confess();
  Block model = block(50 * MB);
  while (run.next()) {
    leak(25 * KB);
    if (run.step() % 40) continue;
    run.phase("validate");
    {
      Block activations = block(35 * MB);
      run.sleep(0.25);
    }
    run.phase("train");
  }
}
