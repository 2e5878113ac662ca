// Subcommands register themselves: one static Command per file, without a central list.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace plimsoll::cli {

// `setup` adds options to the subcommand and sets the callback; the callback returns the exit code through
// `exit_code`.
struct Command {
  Command(int rank, const char* name, const char* summary, const char* example,
          std::function<void(CLI::App&)> setup);
};

// What the process exits with once the chosen subcommand's callback has returned; throw plimsoll::Error for
// failures.
extern int exit_code;

}  // namespace plimsoll::cli
