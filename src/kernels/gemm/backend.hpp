// The backends for matrix products. Libraries are opened at run time, so the program builds and starts without
// them and uses memory for them only when one is chosen. Every backend runs on the calling thread only.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "kernels/table.hpp"

namespace plimsoll::kernels {

struct Backend {
  std::string name;         // native, bf16, onednn, cblas, plain
  std::string description;  // "native avx512", "oneDNN 2.6.3 (libdnnl.so.2)"
  GemmFunction run = nullptr;
  const Table* table = nullptr;  // the kernels of everything else; null: the best this processor runs
};

// The backend called `name` ("auto": native) beside the kernels of `isa`, with products of f32 or bf16. InputError where one
// of them is unknown or cannot be had here.
Backend open_backend(std::string_view name, std::string_view isa = "auto",
                     std::string_view precision = "f32");
// Names of the backends that can be opened here, best first.
std::vector<std::string> backend_names();

// Each in its own file; `run` is null where the library is absent, and `description` says so.
Backend onednn_backend();
Backend cblas_backend();

// Libraries know neither bias nor addend: puts them into C first. Returns whether the product must add to C.
bool prefill(const Gemm& g);

}  // namespace plimsoll::kernels
