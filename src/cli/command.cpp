#include "cli/command.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/nearest.hpp"

namespace plimsoll::cli {
namespace {

std::vector<const Command*>& registry() {
  static std::vector<const Command*> registered;
  return registered;
}

}  // namespace

int exit_code = 0;

Command::Command(int rank, const char* name, const char* summary, const char* example,
                 std::function<void(Options&)> setup)
    : rank(rank), name(name), summary(summary), example(example), setup(std::move(setup)) {
  auto& all = registry();
  all.insert(std::upper_bound(all.begin(), all.end(), this,
                              [](const Command* a, const Command* b) { return a->rank < b->rank; }),
             this);
}

Options Command::options() const {
  Options options;
  setup(options);
  return options;
}

const std::vector<const Command*>& commands() { return registry(); }

const Command& find_command(const std::string& name) {
  std::vector<std::string> known;
  std::string list;
  for (const Command* command : commands()) {
    if (command->name == name) return *command;
    known.push_back(command->name);
    list += (list.empty() ? "" : ", ") + command->name;
  }
  const std::string likely = likely_meant(name, known);
  fail_input("unknown command '{}'; {}the commands are {}", name,
             likely.empty() ? "" : fmt::format("did you mean '{}'? Otherwise, ", likely), list);
}

const std::vector<ExitCode>& exit_codes() {
  static const std::vector<ExitCode> codes = {
      {0, "done"},
      {1, "failed"},
      {2, "wrong usage or bad input: one line says what, and what to do"},
      {10, "leak found, where asked to fail on it"},
      {11, "stopped by the guard; a training run has saved a checkpoint"},
      {130, "interrupted, state saved"},
  };
  return codes;
}

}  // namespace plimsoll::cli
