// Pools and workspaces grow over the first third of the run, more and more slowly, and then stop.
#include <vector>

#include "specimen.hpp"
using namespace specimen;

int main() {
  Run run;
  Block model = block(30 * MB);
  std::vector<Block> pools;
  while (run.next())
    if (run.progress() < 0.33)
      pools.push_back(block(static_cast<size_t>(400 * KB * (0.35 - run.progress()) / 0.35)));
}
