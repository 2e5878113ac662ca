// Within an epoch of two seconds a cache grows and is dropped at the end, but each epoch keeps its own 1.5 MB
// of results.
#include <vector>

#include "specimen.hpp"
using namespace specimen;

int main() {
  Run run;
  confess();
  Block model = block(40 * MB);
  std::vector<Block> cache;
  while (run.next()) {
    cache.push_back(block(200 * KB));
    if (run.step() % 40) continue;
    cache.clear();
    leak(1500 * KB);
  }
}
