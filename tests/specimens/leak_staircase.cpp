// Every validation leaves 1.5 MB behind; between validations nothing grows.
#include "specimen.hpp"
using namespace specimen;

int main() {
  Run run;
  confess();
  Block model = block(40 * MB);
  while (run.next()) {
    if (run.step() % 30) continue;
    run.phase("validate");
    {
      leak(1500 * KB);
      Block activations = block(12 * MB);
      run.sleep(0.15);
    }
    run.phase("train");
  }
}
