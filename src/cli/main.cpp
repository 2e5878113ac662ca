// The program: finds the subcommand, turns every error into one line and a documented exit code.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <vector>

#include "base/error.hpp"
#include "cli/command.hpp"

namespace plimsoll::cli {

int exit_code = 0;

namespace {
struct Registered {
  int rank;
  std::string name, summary, example;
  std::function<void(CLI::App&)> setup;
};
std::vector<Registered>& registry() {
  static std::vector<Registered> commands;
  return commands;
}
}  // namespace

Command::Command(int rank, const char* name, const char* summary, const char* example, std::function<void(CLI::App&)> setup) {
  registry().push_back({rank, name, summary, example, std::move(setup)});
}

static int run(int argc, char** argv) {
  CLI::App app{"plimsoll: training runs whose memory is known, flat and explained", "plimsoll"};
  app.set_version_flag("--version", "plimsoll " PLIMSOLL_VERSION);
  app.require_subcommand(1);
  app.footer("Exit codes: 0 done, 1 failed, 2 wrong usage or bad input, 10 leak found, 11 stopped by the guard,\n"
             "130 interrupted with state saved. `plimsoll COMMAND --help` shows options and an example.");
  std::sort(registry().begin(), registry().end(), [](auto& a, auto& b) { return a.rank < b.rank; });
  for (auto& command : registry()) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    sub->footer("Example:\n  " + command.example);
    sub->get_formatter()->column_width(36);
    command.setup(*sub);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForAllHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForVersion& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    std::string where;
    for (auto* sub : app.get_subcommands()) where += " " + sub->get_name();
    fmt::print(stderr, "plimsoll{}: {}; see `plimsoll{} --help`\n", where, e.what(), where);
    return int(Exit::usage);
  }
  return exit_code;
}

}  // namespace plimsoll::cli

int main(int argc, char** argv) {
  try {
    return plimsoll::cli::run(argc, argv);
  } catch (const plimsoll::Error& e) {
    fmt::print(stderr, "plimsoll: {}\n", e.what());
    return int(e.code);
  } catch (const std::exception& e) {
    fmt::print(stderr, "plimsoll: unexpected: {}\n", e.what());
    return int(plimsoll::Exit::failed);
  }
}
