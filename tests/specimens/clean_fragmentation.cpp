// A fixed number of blocks of random sizes is replaced at random: the heap grows quickly, then more slowly,
// and levels off.
#include <vector>

#include "specimen.hpp"
using namespace specimen;

int main() {
  Run run;
  std::mt19937 random(11);
  Block model = block(20 * MB);
  std::vector<Block> live(1000);
  // Sizes stay below malloc's mapping threshold, so all of them live in the one heap.
  const auto some = [&] { return block(200 + random() % (1u << (7 + random() % 10))); };
  for (Block& one : live) one = some();
  while (run.next())
    for (int i = 0; i < 40; ++i) live[random() % live.size()] = some();
}
