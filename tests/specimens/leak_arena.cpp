// The arena that orphans its own chain after every reset.
#include "arena.hpp"

int main() {
  specimen::Run run;
  specimen::confess();
  specimen::Arena arena(65'536, false);
  train_in(arena, run);
}
