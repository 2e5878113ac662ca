// Where matrix products can come from. Libraries are opened at run time, so the program builds and starts without
// them, and pays for their memory only when one is chosen. Every backend runs on the calling thread alone.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "kernels/gemm.hpp"

namespace plimsoll::kernels {

struct Backend {
  std::string name;         // native, onednn, cblas, plain
  std::string description;  // "native avx512", "oneDNN 2.6.3 (libdnnl.so.2)"
  GemmFunction run = nullptr;
};

// The backend called `name` ("auto": native). InputError where it is unknown or its library cannot be opened.
Backend open_backend(std::string_view name);
// Names of the backends that can be opened here, best first.
std::vector<std::string> backend_names();

// Each in its own file; `run` is null where the library is absent, and `description` says so.
Backend onednn_backend();
Backend cblas_backend();

// Libraries know neither bias nor addend: puts them into C first. Returns whether the product must add to C.
bool prefill(const Gemm& g);

}  // namespace plimsoll::kernels
