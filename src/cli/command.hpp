// Subcommands register themselves: one static Command per file, without a central list.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "cli/options.hpp"

namespace plimsoll::cli {

// `setup` adds the options and what to run; throw plimsoll::Error for failures. `example` is one command line or
// several, each on its own line.
struct Command {
  Command(int rank, const char* name, const char* summary, const char* example,
          std::function<void(Options&)> setup);

  int rank;  // place in the list of commands
  std::string name, summary, example;
  std::function<void(Options&)> setup;

  Options options() const;
};

// Every command by rank.
const std::vector<const Command*>& commands();
// The command of that name; refuses an unknown one with the nearest.
const Command& find_command(const std::string& name);

// What the process exits with once the chosen subcommand has run.
extern int exit_code;

struct ExitCode {
  int code;
  const char* meaning;
};
const std::vector<ExitCode>& exit_codes();

constexpr const char* program_summary = "training runs whose memory is known, flat and explained";

}  // namespace plimsoll::cli
