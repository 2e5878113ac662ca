// Holds what it has and harms nobody: the one a guard must not take for the culprit. quiet_neighbour
// [MEGABYTES]
#include "specimen.hpp"

int main(int argc, char** argv) {
  specimen::take((argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 40) * specimen::MB);
  for (;;) pause();
}
