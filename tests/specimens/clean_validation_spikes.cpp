// Validation allocates an additional 70 % every two seconds and frees it.
#include "specimen.hpp"
using namespace specimen;

int main() {
  Run run;
  Block model = block(50 * MB);
  while (run.next()) {
    if (run.step() % 40) continue;
    run.phase("validate");
    {
      Block activations = block(35 * MB);
      run.sleep(0.25);
    }
    run.phase("train");
  }
}
