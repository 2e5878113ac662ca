#include "kernels/gemm/backend.hpp"

#include <cstring>

#include "base/error.hpp"
#include "kernels/gemm/bf16.hpp"
#include "kernels/table.hpp"

namespace plimsoll::kernels {

bool prefill(const Gemm& g) {
  if (!g.bias && !g.addend) return g.accumulate;
  for (int64_t i = 0; i < g.m; ++i)
    for (int64_t j = 0; j < g.n; ++j) {
      float& c = g.c[i * g.c_row + j];
      c = (g.accumulate ? c : 0) + (g.bias ? g.bias[j] : 0) + (g.addend ? g.addend[i * g.addend_row + j] : 0);
    }
  return true;
}

namespace {

Backend open_bf16(std::string_view gemm, std::string_view isa) {
  if (gemm != "auto" && gemm != "native")
    fail_input("--precision bf16: --gemm {} has no such products; use --gemm native", gemm);
  if (isa != "auto" && isa != "avx512")
    fail_input("--precision bf16: --isa {} has no such products; use --isa auto", isa);
  const GemmFunction run = fast_bf16();
  if (!run) fail_input("--precision bf16: this processor has no AVX512-BF16; use --precision f32");
  const Table& table = table_of(isa);
  return {"bf16", std::string("native ") + table.name + ", bf16 products", run, &table};
}

}  // namespace

Backend open_backend(std::string_view name, std::string_view isa, std::string_view precision) {
  if (precision == "bf16") return open_bf16(name, isa);
  if (precision != "f32") fail_input("--precision '{}' is unknown; use f32 or bf16", precision);
  const Table& table = table_of(isa);
  if (name == "auto" || name == "native")
    return {"native", std::string("native ") + table.name, table.gemm, &table};
  if (name == "plain") return {"plain", "plain loops", reference_table.gemm, &table};
  if (name == "onednn" || name == "cblas") {
    Backend backend = name == "onednn" ? onednn_backend() : cblas_backend();
    if (!backend.run) fail_input("--gemm {}: {}; install it or use --gemm native", name, backend.description);
    backend.table = &table;
    return backend;
  }
  fail_input("--gemm '{}' is unknown; use one of auto, native, onednn, cblas, plain", name);
}

std::vector<std::string> backend_names() {
  std::vector<std::string> names = {"native"};
  if (onednn_backend().run) names.emplace_back("onednn");
  if (cblas_backend().run) names.emplace_back("cblas");
  names.emplace_back("plain");
  return names;
}

}  // namespace plimsoll::kernels
