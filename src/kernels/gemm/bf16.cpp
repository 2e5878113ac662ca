#include "kernels/gemm/bf16.hpp"

#include "kernels/table.hpp"

namespace plimsoll::kernels {

#if defined(__x86_64__)
namespace avx512bf16 {
void bf16_product(const Gemm&, float* scratch);
}

GemmFunction fast_bf16() {
  // The rest of what it is compiled for is what the table of AVX-512 needs.
  const bool has = best().name == std::string_view("avx512") && __builtin_cpu_supports("avx512bf16");
  return has ? avx512bf16::bf16_product : nullptr;
}
#else
GemmFunction fast_bf16() { return nullptr; }
#endif

}  // namespace plimsoll::kernels
