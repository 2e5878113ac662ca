// A data set file is mapped and read through once in the first third of the run: RSS grows to its size and
// stays.
#include <fcntl.h>
#include <sys/mman.h>

#include "specimen.hpp"
using namespace specimen;

int main() {
  Run run;
  constexpr size_t bytes = 24 * MB;
  std::FILE* file = std::tmpfile();
  {
    Block data = block(bytes);
    if (!file || std::fwrite(data.get(), 1, bytes, file) != bytes || std::fflush(file) != 0) return 1;
  }
  Block model = block(30 * MB);
  const auto* data = static_cast<const char*>(mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fileno(file), 0));
  [[maybe_unused]] volatile char seen = 0;
  while (run.next()) {
    const double part = run.progress() * 3;
    if (part >= 1) continue;
    const auto upto = static_cast<size_t>(part * static_cast<double>(bytes));
    for (size_t i = 0; i < upto; i += 4096) seen = data[i];
  }
}
