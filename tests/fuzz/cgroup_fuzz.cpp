// Arbitrary bytes as control group and pressure files.
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "platform/cgroup.hpp"
#include "platform/pressure.hpp"

using namespace plimsoll;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view content(reinterpret_cast<const char*>(data), size);
  if (auto group = cgroup::parse_membership(content); group && (group->path.empty() || group->path[0] != '/'))
    __builtin_trap();
  const std::vector<cgroup::Hierarchy> hierarchies = {{"/1", "/", 1}, {"/2", "/docker/x", 2}};
  cgroup::each_group(hierarchies, content, [](std::string_view folder, int version, bool) {
    if (!folder.starts_with(version == 1 ? "/1" : "/2") || folder.size() > cgroup::longest_folder)
      __builtin_trap();
  });
  if (auto limit = cgroup::parse_limit(content); limit && *limit >= uint64_t(1) << 60) __builtin_trap();
  cgroup::parse_stat_value(content, "inactive_file");
  if (auto pressure = pressure::parse_pressure(content); pressure && !std::isfinite(pressure->some10))
    __builtin_trap();
  return 0;
}
