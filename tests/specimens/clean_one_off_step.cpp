// One larger sample in the middle of the run makes a buffer grow, once.
#include "specimen.hpp"
using namespace specimen;

int main() {
  Run run;
  Block model = block(40 * MB), buffer;
  while (run.next())
    if (!buffer && run.progress() > 0.5) buffer = block(15 * MB);
}
