// The same arena with its chunks reused.
#include "arena.hpp"

int main() {
  specimen::Run run;
  specimen::Arena arena(65'536, true);
  train_in(arena, run);
}
