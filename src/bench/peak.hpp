// Measures what this machine can do at most, with which training steps and generation are compared.
#pragma once
#include "graph/pool.hpp"
#include "kernels/gemm/backend.hpp"

namespace plimsoll::bench {

// GFLOP/s of one independent square product a thread (512 to 1024), all threads at once: the best of several
// repetitions over the sizes and over native on the chosen instruction set, `chosen` itself, and oneDNN where it is installed
// and the set is the best of the processor.
double sgemm_peak(Pool& pool, const kernels::Backend& chosen);
// Bytes a second that all threads together read from memory, far beyond the caches: the best of several repetitions.
double read_peak(Pool& pool, const kernels::Table& kernels);

}  // namespace plimsoll::bench
