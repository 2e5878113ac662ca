// Measures complete training steps, or generation token by token, on a model with random
// weights.
//
//   Training t = measure_training(find_config("nano"), {.threads = 2});
//   t.milliseconds          // median step
//   t.gflops / t.peak       // share of what the machine's matrix products reach in the same process
#pragma once
#include <string>

#include "bench/config.hpp"

namespace plimsoll::bench {

struct Options {
  int threads = 0;  // 0: all cores
  double seconds =
      5;  // how long to measure; at least five steps, or one context of tokens, are measured in any case
  std::string gemm = "auto", isa = "auto", precision = "f32";
};

struct Training {
  double milliseconds = 0, fastest = 0;  // per step: median and smallest
  double tokens_per_second = 0, gflops = 0, peak = 0;
  uint64_t steps = 0, peak_rss = 0, plan = 0,
           parameters = 0;  // peak RSS is read before the products' peak is measured
  int threads = 1;
  std::string gemm;
};
// Forward, backward and AdamW on fresh random tokens every step, no clipping.
Training measure_training(const Config& config, const Options& options);

struct Generation {
  double tokens_per_second = 0;
  double read_peak = 0;  // bytes a second that this machine reads from memory; every token reads all parameters
  uint64_t tokens = 0, peak_rss = 0, plan = 0, parameters = 0;
  int threads = 1;
  std::string gemm;
};
// Greedy, one sequence with cached keys and values, from one token until the context is full, then from the
// start.
Generation measure_generation(const Config& config, const Options& options);

}  // namespace plimsoll::bench
