// A cache fills during every epoch of three seconds and is dropped at its end.
#include <vector>

#include "specimen.hpp"
using namespace specimen;

int main() {
  Run run;
  Block model = block(40 * MB);
  std::vector<Block> cache;
  while (run.next()) {
    cache.push_back(block(300 * KB));
    if (run.step() % 60 == 0) cache.clear();
  }
}
