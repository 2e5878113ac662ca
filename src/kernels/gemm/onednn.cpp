// oneDNN's sgemm through its C interface. Its OpenMP runtime is limited to one thread before it is loaded,
// because threads come from our own pool. It allocates inside a product, so a run with this backend is not
// free of allocations.
#include <cstdlib>
#include <string>
#include <type_traits>

#include "kernels/gemm/backend.hpp"
#include "platform/library.hpp"

namespace plimsoll::kernels {
namespace {

using Sgemm = int (*)(char, char, int64_t, int64_t, int64_t, float, const float*, int64_t, const float*,
                      int64_t, float, float*, int64_t);
Sgemm sgemm = nullptr;

void run(const Gemm& g, float*) {
  const bool ta = g.a_col != 1, tb = g.b_col != 1;
  const float beta = prefill(g) ? 1.f : 0.f;
  sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', g.m, g.n, g.k, 1.f, g.a, ta ? g.a_col : g.a_row,
        static_cast<const float*>(g.b), tb ? g.b_col : g.b_row, beta, g.c, g.c_row);
}

}  // namespace

Backend onednn_backend() {
  static const Backend backend = [] {
    setenv("OMP_NUM_THREADS", "1", 1);
    for (const char* name : {"libdnnl.so.3", "libdnnl.so.2", "libdnnl.so"}) {
      platform::Library library(name);
      sgemm = library.find<std::remove_pointer_t<Sgemm>>("dnnl_sgemm");
      if (!sgemm) continue;
      library.keep();
      return Backend{"onednn", std::string("oneDNN (") + name + ")", run, nullptr};
    }
    return Backend{"onednn", "oneDNN is not installed (libdnnl)", nullptr, nullptr};
  }();
  return backend;
}

}  // namespace plimsoll::kernels
