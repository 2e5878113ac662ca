// oneDNN's sgemm through its C interface. Its OpenMP runtime is told to use one thread before it is loaded: the pool
// is ours. It allocates inside a product, so a run with this backend is not free of allocations.
#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "kernels/gemm/backend.hpp"

namespace plimsoll::kernels {
namespace {

using Sgemm = int (*)(char, char, int64_t, int64_t, int64_t, float, const float*, int64_t, const float*,
                      int64_t, float, float*, int64_t);
Sgemm sgemm = nullptr;

void run(const Gemm& g, float*) {
  const bool ta = g.a_col != 1, tb = g.b_col != 1;
  const float beta = prefill(g) ? 1.f : 0.f;
  sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', g.m, g.n, g.k, 1.f, g.a, ta ? g.a_col : g.a_row, g.b,
        tb ? g.b_col : g.b_row, beta, g.c, g.c_row);
}

}  // namespace

Backend onednn_backend() {
  static const Backend backend = [] {
    setenv("OMP_NUM_THREADS", "1", 1);
    for (const char* library : {"libdnnl.so.3", "libdnnl.so.2", "libdnnl.so"}) {
      void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
      if (!handle) continue;
      sgemm = reinterpret_cast<Sgemm>(dlsym(handle, "dnnl_sgemm"));
      if (sgemm) return Backend{"onednn", std::string("oneDNN (") + library + ")", run, nullptr};
    }
    return Backend{"onednn", "oneDNN is not installed (libdnnl)", nullptr, nullptr};
  }();
  return backend;
}

}  // namespace plimsoll::kernels
