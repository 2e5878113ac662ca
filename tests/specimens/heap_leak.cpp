// Leaks 2 MB every 50 ms in a function two calls deep while another one allocates and frees ten times as much. Prints
// the line that leaks first; runs for SPECIMEN_SECONDS (8 by default).
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

namespace {

struct Record {
  char bytes[20000];
};
std::vector<std::unique_ptr<Record>> kept;
volatile char sink;

constexpr int leaking_line = __LINE__ + 2;
__attribute__((noinline)) void remember(int i) {
  kept.push_back(std::make_unique<Record>());
  kept.back()->bytes[i % 20000] = char(i);
}

__attribute__((noinline)) void request(int i) {
  for (int k = 0; k < 100; ++k) remember(i + k);
}

__attribute__((noinline)) void scratch(int i) {
  for (int k = 0; k < 200; ++k) {
    std::vector<char> buffer(100000);
    buffer[size_t(i % 1000)] = char(k);
    sink = buffer[0];
  }
}

}  // namespace

int main() {
  const char* text = std::getenv("SPECIMEN_SECONDS");
  const int steps = int((text ? std::atof(text) : 8) / 0.05);
  std::printf("line %d\n", leaking_line);
  std::fflush(stdout);
  for (int i = 0; i < steps; ++i) {
    request(i);
    scratch(i);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return 0;
}
