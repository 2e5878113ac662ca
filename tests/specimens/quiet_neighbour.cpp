// Holds its memory and does nothing else: a process that a guard must not stop. quiet_neighbour [MEGABYTES]
#include "specimen.hpp"

int main(int argc, char** argv) {
  specimen::take((argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 40) * specimen::MB);
  for (;;) pause();
}
