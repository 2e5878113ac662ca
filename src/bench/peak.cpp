#include "bench/peak.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "platform/memory.hpp"

namespace plimsoll::bench {
namespace {

constexpr int64_t sizes[] = {512, 768, 1024};
constexpr int64_t largest = 1024;
constexpr int repetitions = 6;

struct Products {
  kernels::GemmFunction run;
  int64_t size;
  float* memory;  // A, B, C and scratch, one after the other for every part
};

constexpr size_t floats_per_part = 3 * size_t(largest * largest) + kernels::gemm_scratch_floats;

void multiply(const void* opaque, int part, int) {
  const auto& products = *static_cast<const Products*>(opaque);
  const int64_t n = products.size;
  float* a = products.memory + floats_per_part * size_t(part);
  float *b = a + n * n, *c = b + n * n, *scratch = a + 3 * largest * largest;
  products.run({.m = n, .n = n, .k = n, .a = a, .a_row = n, .b = b, .b_row = n, .c = c, .c_row = n}, scratch);
}

}  // namespace

double sgemm_peak(Pool& pool, const kernels::Backend& chosen) {
  std::vector<kernels::GemmFunction> products = {chosen.table->gemm};
  // The library picks the instruction set by itself: it may not be faster than what is measured is allowed to be.
  const bool best = chosen.table == &kernels::best();
  if (const kernels::Backend library = kernels::onednn_backend(); library.run && best)
    products.push_back(library.run);
  if (chosen.name == "cblas") products.push_back(chosen.run);
  const int threads = pool.threads();
  Mapping memory(floats_per_part * sizeof(float) * size_t(threads), Mapping::Pages::huge);
  auto* floats = reinterpret_cast<float*>(memory.data());
  std::fill(floats, floats + floats_per_part * size_t(threads), 0.5f);
  double most = 0;
  // Repetitions are outermost, so that other work on the machine cannot spoil one candidate altogether.
  for (int repetition = 0; repetition < repetitions; ++repetition)
    for (const kernels::GemmFunction run : products)
      for (const int64_t size : sizes) {
        const Products job{run, size, floats};
        const auto begin = std::chrono::steady_clock::now();
        pool.run(multiply, &job, threads);
        const double seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        most = std::max(most, 2e-9 * double(size) * double(size) * double(size) * threads / seconds);
      }
  return most;
}

double read_peak(Pool& pool, const kernels::Table& kernels) {
  constexpr int64_t floats_each = 32 << 20;
  const int threads = pool.threads();
  Mapping memory(size_t(floats_each) * sizeof(float) * size_t(threads), Mapping::Pages::huge);
  memory.touch();
  struct Reading {
    const kernels::Table* kernels;
    const float* from;
  };
  const Reading job{&kernels, reinterpret_cast<const float*>(memory.data())};
  double most = 0;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    const auto begin = std::chrono::steady_clock::now();
    pool.run(
        [](const void* opaque, int part, int) {
          const auto& reading = *static_cast<const Reading*>(opaque);
          reading.kernels->sum_squares({.count = floats_each, .x = reading.from + floats_each * part});
        },
        &job, threads);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    most = std::max(most, double(memory.size()) / seconds);
  }
  return most;
}

}  // namespace plimsoll::bench
