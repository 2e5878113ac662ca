// Arbitrary bytes as a command line: the text shown never contains control characters.
#include <cstddef>
#include <cstdint>

#include "base/mask.hpp"
#include "platform/proc.hpp"

using namespace plimsoll;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto arguments = proc::parse_cmdline({reinterpret_cast<const char*>(data), size});
  if (mask_arguments(arguments).size() != arguments.size()) __builtin_trap();
  std::string shown = display_command(arguments);
  for (char c : shown)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) __builtin_trap();
  if (shown.size() > 403) __builtin_trap();
  return 0;
}
