// What the machine's matrix products reach at best: the yardstick a training step is held against.
#pragma once
#include "graph/pool.hpp"
#include "kernels/gemm/backend.hpp"

namespace plimsoll::bench {

// GFLOP/s of one independent square product a thread (512 to 1024), all threads at once: the best of several
// repetitions over the sizes and over native, oneDNN where it is installed, and `chosen`.
double sgemm_peak(Pool& pool, const kernels::Backend& chosen);

}  // namespace plimsoll::bench
