// Ten thousand children that live for two milliseconds each, twenty at a time, like a build under a watched
// program.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

int main(int count, char** arguments) {
  int left = count > 1 ? std::atoi(arguments[1]) : 10'000, running = 0;
  while (left > 0 || running > 0) {
    if (left > 0 && running < 20) {
      pid_t child = fork();
      if (child < 0) return 1;
      if (child == 0) {
        usleep(2000);
        _exit(0);
      }
      --left, ++running;
    } else if (wait(nullptr) > 0) {
      --running;
    }
  }
}
