// Makes a command line safe to show: masks secrets and escapes control characters. docs/watch.md lists what
// is masked.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

// Control characters, invalid UTF-8 and text-direction marks as \n, \x1b, \u202e; everything else as it is.
std::string escape(std::string_view text);
// The same arguments with every secret replaced by ***.
std::vector<std::string> mask_arguments(const std::vector<std::string>& arguments);
// Masked, escaped, quoted where a blank needs it, cut to `most` characters.
std::string display_command(const std::vector<std::string>& arguments, size_t most = 400);

}  // namespace plimsoll
