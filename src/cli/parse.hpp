// Reads the words of a command line into a command's options.
#pragma once
#include <span>
#include <string>

#include "cli/options.hpp"

namespace plimsoll::cli {

// Sets what the words say; throws InputError, one line that names the word and what to do. `command` is how the
// command is called, for that line. True if help was asked for; then nothing further is read.
bool parse(const Options& options, std::span<const std::string> words, const std::string& command);

}  // namespace plimsoll::cli
