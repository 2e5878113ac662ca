// Three workers read more and more of a data set shared with their parent: the RSS of each grows all the
// time, but the machine uses no additional page. A sum of RSS looks like a leak.
#include <sys/mman.h>
#include <sys/wait.h>

#include "specimen.hpp"
using namespace specimen;

int main() {
  constexpr size_t bytes = 30 * MB;
  auto* data =
      static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  touch(data, bytes);
  Block model = block(20 * MB);
  pid_t workers[3];
  for (pid_t& worker : workers) {
    worker = fork();
    if (worker == 0) {
      Run run;
      [[maybe_unused]] volatile char seen = 0;
      while (run.next()) {
        const auto upto = static_cast<size_t>(run.progress() * static_cast<double>(bytes));
        for (size_t i = upto > 400 * KB ? upto - 400 * KB : 0; i < upto && i < bytes; i += 4096)
          seen = data[i];
      }
      _exit(0);
    }
  }
  Run run;
  while (run.next()) continue;
  for (const pid_t worker : workers) waitpid(worker, nullptr, 0);
}
