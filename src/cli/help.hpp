// What --help prints.
#pragma once
#include <string>

#include "cli/command.hpp"

namespace plimsoll::cli {

std::string program_help();
std::string command_help(const Command& command);
// "plimsoll watch [OPTIONS] [-- PROGRAM...]"
std::string synopsis(const Command& command, const Options& options);
// The headings of a command's options in the order they come, "Options" first.
std::vector<std::string> headings(const Options& options);
std::string heading_of(const Option& option);
// "-o, --out FILE"
std::string usage_of(const Option& option);

}  // namespace plimsoll::cli
