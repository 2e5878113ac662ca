// Arbitrary bytes as control group and pressure files.
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "platform/cgroup.hpp"
#include "platform/pressure.hpp"

using namespace plimsoll;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view content(reinterpret_cast<const char*>(data), size);
  for (const auto& group : cgroup::parse_membership(content))
    if (group.path.empty() || group.path[0] != '/') __builtin_trap();
  if (auto limit = cgroup::parse_limit(content); limit && *limit >= uint64_t(1) << 60) __builtin_trap();
  cgroup::parse_stat_value(content, "inactive_file");
  if (auto pressure = pressure::parse_pressure(content); pressure && !std::isfinite(pressure->some10))
    __builtin_trap();
  return 0;
}
