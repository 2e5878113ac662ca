// Any library with the CBLAS interface: OpenBLAS, BLIS, MKL, Accelerate. It is restricted to the calling thread.
#include <cstdlib>
#include <string>
#include <type_traits>

#include "kernels/gemm/backend.hpp"
#include "platform/library.hpp"

namespace plimsoll::kernels {
namespace {

using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float,
                       float*, int);
Sgemm sgemm = nullptr;

void run(const Gemm& g, float*) {
  constexpr int row_major = 101, plain = 111, transposed = 112;
  const bool ta = g.a_col != 1, tb = g.b_col != 1;
  const float beta = prefill(g) ? 1.f : 0.f;
  sgemm(row_major, ta ? transposed : plain, tb ? transposed : plain, int(g.m), int(g.n), int(g.k), 1.f, g.a,
        int(ta ? g.a_col : g.a_row), static_cast<const float*>(g.b), int(tb ? g.b_col : g.b_row), beta, g.c,
        int(g.c_row));
}

}  // namespace

Backend cblas_backend() {
  static const Backend backend = [] {
    for (const char* variable : {"OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS", "MKL_NUM_THREADS",
                                 "OMP_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"})
      setenv(variable, "1", 1);
    for (const char* name :
         {"libopenblas.so.0", "libblis.so.4", "libmkl_rt.so.2", "libmkl_rt.so", "libcblas.so.3",
          "libblas.so.3", "/System/Library/Frameworks/Accelerate.framework/Accelerate"}) {
      platform::Library library(name);
      sgemm = library.find<std::remove_pointer_t<Sgemm>>("cblas_sgemm");
      if (!sgemm) continue;
      library.keep();
      return Backend{"cblas", std::string("cblas (") + name + ")", run, nullptr};
    }
    return Backend{"cblas", "no library with cblas_sgemm is installed (OpenBLAS, BLIS, MKL)", nullptr,
                   nullptr};
  }();
  return backend;
}

}  // namespace plimsoll::kernels
