#include "kernels/table.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <array>

#include "base/error.hpp"

namespace plimsoll::kernels {

namespace baseline {
extern const Table table;
}
#if defined(__x86_64__)
namespace avx2 {
extern const Table table;
}
namespace avx512 {
extern const Table table;
}
#endif

#if defined(__x86_64__)
// Clang's __builtin_cpu_supports does not know it before version 15.
static bool has_f16c() {
  unsigned a, b, c = 0, d;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}
#endif

std::span<const Table* const> available() {
  static const auto found = [] {
    struct {
      std::array<const Table*, 4> tables{};
      size_t count = 0;
    } list;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
      list.tables[list.count++] = &avx512::table;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c())
      list.tables[list.count++] = &avx2::table;
#endif
    list.tables[list.count++] = &baseline::table;
    list.tables[list.count++] = &reference_table;
    return list;
  }();
  return {found.tables.data(), found.count};
}

const Table& best() { return *available().front(); }

const Table& table_of(std::string_view isa) {
  if (isa == "auto") return best();
  const std::string_view name = isa == "plain" ? "baseline" : isa;
  for (const Table* table : available())
    if (table->name == name && table != &reference_table) return *table;
  fail_input("--isa {}: this processor does not have it; use --isa auto", isa);
}

}  // namespace plimsoll::kernels
