#include "report/memory_parts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.hpp"
#include "report/shown_text.hpp"

namespace plimsoll::report {
namespace {

// A record may be anybody's.
constexpr size_t most_parts = 32;
constexpr int64_t most_role_bytes = int64_t{1} << 50;

}  // namespace

std::vector<MemoryPart> memory_parts(const RunData& data) {
  int64_t measured = 0, total = 0, named = 0;
  for (const RunReader::Memory& row : data.memory)
    if (row.rss >= 0) measured = row.rss;
  std::vector<MemoryPart> parts;
  if (data.plan_roles.size() > most_parts) return {};
  for (const auto& role : data.plan_roles) {
    if (role.bytes < 0 || role.bytes > most_role_bytes) return {};
    if (role.role == "total") {
      total = role.bytes;
      continue;
    }
    parts.push_back({shown(role.role), role.bytes});
    named += role.bytes;
  }
  if (parts.empty() || total < named || measured < total) return {};
  std::stable_sort(parts.begin(), parts.end(), [](auto& a, auto& b) { return a.bytes > b.bytes; });
  if (total > named) parts.push_back({"gaps of the plan", total - named});
  parts.push_back({"the process beside the plan", measured - total});
  return parts;
}

std::string memory_sum(const RunData& data) {
  std::string out;
  uint64_t sum = 0;
  for (const MemoryPart& part : memory_parts(data)) {
    out += fmt::format("{}{} {}", out.empty() ? "" : " + ", part.name, format_bytes(uint64_t(part.bytes)));
    sum += uint64_t(part.bytes);
  }
  return out.empty() ? out : fmt::format("{} = {} measured", out, format_bytes(sum));
}

}  // namespace plimsoll::report
