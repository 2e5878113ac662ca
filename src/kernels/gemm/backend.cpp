#include "kernels/gemm/backend.hpp"

#include <cstring>

#include "base/error.hpp"
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

Backend open_backend(std::string_view name, std::string_view isa) {
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
