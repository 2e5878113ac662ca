// Flat for the first third, then a leak: the path that leaks is reached late.
#include "specimen.hpp"
using namespace specimen;

int main() {
  Run run;
  confess();
  Block model = block(40 * MB);
  while (run.next())
    if (run.progress() > 0.33) leak(60 * KB);
}
