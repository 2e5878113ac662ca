// Arbitrary bytes as the /proc files of a process.
#include <cstddef>
#include <cstdint>

#include "base/text.hpp"
#include "platform/proc.hpp"

using namespace plimsoll;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view content(reinterpret_cast<const char*>(data), size);
  if (auto stat = proc::parse_stat(content); stat && stat->id.pid <= 0) __builtin_trap();
  proc::parse_statm(content);
  proc::parse_status(content);
  proc::parse_smaps(content);
  if (proc::parse_cmdline(content).size() > size + 1) __builtin_trap();
  proc::parse_meminfo(content);
  for (const proc::Mount& mount : proc::parse_mountinfo(content))
    if (mount.type.empty()) __builtin_trap();
  std::vector<std::string> libraries;
  for (std::string_view rest = content; !rest.empty();)
    proc::add_mapped_library(text::next_line(rest), libraries);
  return 0;
}
